#!/bin/bash
# Prints docs/operators.md: a short introduction and the manual page of every operator.
#   tools/docs.sh build/merkhet > docs/operators.md
set -eu
program=$1
cat <<'EOF'
# Operators

Written by `make docs` from the registry; `merkhet ops OP` prints one page, `merkhet ops OP --json` its JSON
Schemas. A test runs every example on this store:

```sh
merkhet init --store example
export MERKHET_STORE=example
open=4611686018427387904
printf '{"op":"assert_node","uid":"%s","label":"%s","props":%s,"vt_s":0,"vt_e":%s}\n' \
    a N '{"name":"Ann"}' $open b N '{}' $open c M '{}' $open | merkhet assert -
merkhet assert --edge a R b --props '{"w":1}' --from 10 --to 20
merkhet assert --edge b R c --props '{"w":2.5}' --from 15 --to 30
merkhet assert --edge c S a --props '{"w":4}' --from 25 --to 26
merkhet assert --edge a S a --from 18
merkhet correct --edge a R b --props '{"w":7}' --from 12 --to 15
```

All lists have pages (`limit`, `cursor`), all numbers of rows are exact whatever the page, and every answer
says beside the payload, under `completeness`, what it leaves out. Times are microseconds since
1970-01-01T00:00:00Z or ISO 8601 text; `as_of_tt` is transaction time, everything else valid time. A call
that would cost more than its ceilings is refused with `E_COST`, the estimate, and counter-offers that would
be let through.
EOF
"$program" ops --json | tr '{' '\n' | sed -n 's/.*"op":"\([a-z_]*\)".*/\1/p' | while read -r name; do
    printf '\n## %s\n\n```text\n' "$name"
    "$program" ops "$name"
    printf '```\n'
done
