#!/bin/sh
# One line that names the machine, for tables of numbers.
cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
memory=$(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo 2>/dev/null)
disk=$(df -PT "${1:-.}" 2>/dev/null | awk 'NR == 2 { print $2 }')
echo "machine: ${cpu:-$(uname -m)}, $(nproc 2>/dev/null || echo 1) cores, ${memory:-memory unknown}, ${disk:-file system unknown}, $(uname -sr)"
