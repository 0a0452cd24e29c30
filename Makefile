# Merkhet. `make` builds the release program and libraries, `make help` lists the rest.
#
# One variant at a time: V chooses the flags, and every variant keeps its objects in its own folder
# $(BUILD)/$(V), so switching back and forth rebuilds nothing. Targets that need several variants
# (test, fuzz, coverage) call this file again with another V.

VERSION = 0.1.0
SOVERSION = 0

V ?= release
BUILD ?= build
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
DESTDIR ?=
FUZZ_SECONDS ?= 300

VARIANTS = release debug asan tsan fuzz coverage
ifeq ($(filter $(V),$(VARIANTS)),)
$(error V=$(V) is no variant; choose one of: $(VARIANTS))
endif
ifeq ($(origin CC),default)
CC = $(if $(filter fuzz,$(V)),clang,gcc)
endif
# As many jobs as cores, unless the caller said otherwise.
ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 1)
endif

# --- flags -------------------------------------------------------------------------------------

PKGS = libcrypto libxxhash libzstd zlib libutf8proc libmicrohttpd
CSTD = -std=c17 -D_GNU_SOURCE
# Warnings are errors (make WERROR= for a compiler that knows new ones), except one that gcc derives from
# what it happens to inline: it cannot see that a function which failed never returned MK_OK.
WERROR ?= -Werror $(if $(findstring clang,$(CC)),,-Wno-error=maybe-uninitialized)
WARN = -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
# Digests depend on doubles to the last bit, so no contraction into fused operations.
FP = -ffp-contract=off -fno-fast-math
INC = -Isrc -Iinclude
ARCH_FLAGS ?=

OPT_release = -O3 -g -DNDEBUG
OPT_debug = -O0 -g3 -DMK_DEBUG
OPT_asan = -O1 -g -DMK_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan = -O1 -g -DMK_DEBUG -fsanitize=thread -fno-omit-frame-pointer
OPT_fuzz = -O1 -g -DMK_DEBUG -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
OPT_coverage = -O0 -g -DMK_DEBUG --coverage -fprofile-update=atomic

O = $(BUILD)/$(V)
CFLAGS_ALL = $(CSTD) $(WARN) $(FP) $(INC) -fPIC -fvisibility=hidden -pthread $(OPT_$(V)) $(ARCH_FLAGS) $(CFLAGS)
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null || echo -lcrypto -lxxhash -lzstd -lz -lutf8proc -lmicrohttpd) -lm -pthread

# --- sources -----------------------------------------------------------------------------------

LIB_DIRS = base store load backend model op plan claim resolve know agent serve eval
LIB_SRC := $(foreach d,$(LIB_DIRS),$(wildcard src/$(d)/*.c)) $(wildcard src/*.c)
CLI_SRC := $(wildcard src/cli/*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c)
TEST_SRC := $(foreach d,unit property oracle golden fault,$(wildcard tests/$(d)/test_*.c))
# ThreadSanitizer costs a factor of ten, so it runs only where threads meet.
THREAD_SRC := $(foreach t,$(TEST_SRC),$(if $(findstring threads,$(notdir $(t))),$(t)))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
# Programs that scripts in tests/e2e start.
E2E_SRC := $(wildcard tests/e2e/*.c)
BENCH_SRC := $(wildcard bench/bench_*.c)
BENCH_SUPPORT_SRC := $(filter-out $(BENCH_SRC),$(wildcard bench/*.c))
PUBLIC_HEADER = include/merkhet.h

LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(O)/%.o)
SUPPORT_OBJ := $(SUPPORT_SRC:%.c=$(O)/%.o)
BENCH_SUPPORT_OBJ := $(BENCH_SUPPORT_SRC:%.c=$(O)/%.o)
TEST_BIN := $(TEST_SRC:%.c=$(O)/%)
THREAD_BIN := $(THREAD_SRC:%.c=$(O)/%)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(O)/%)
E2E_BIN := $(E2E_SRC:%.c=$(O)/%)
BENCH_BIN := $(BENCH_SRC:%.c=$(O)/%)
ALL_OBJ := $(LIB_OBJ) $(CLI_OBJ) $(VERIFY_OBJ) $(SUPPORT_OBJ) $(BENCH_SUPPORT_OBJ) $(O)/tests/fuzz/driver.o \
           $(addsuffix .o,$(TEST_BIN) $(E2E_BIN) $(FUZZ_BIN) $(BENCH_BIN))

PROGRAM := $(if $(CLI_SRC),$(BUILD)/merkhet)
# The verifier links base and claim and nothing else: neither store nor planner nor network.
VERIFY_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard src/base/*.c src/claim/*.c src/verify/*.c))
VERIFY := $(if $(wildcard src/verify/*.c),$(BUILD)/merkhet-verify)

# What tests, demo and benchmarks are told about the world.
abs = $(if $(filter /%,$(1)),$(1),$(CURDIR)/$(1))
# Short lines while building; VERBOSE=1 shows the commands, -s nothing.
Q = $(if $(VERBOSE),,@)
say = $(if $(VERBOSE)$(findstring s,$(firstword -$(MAKEFLAGS))),,@echo '  $(1) $(patsubst $(CURDIR)/%,%,$@)')

ifneq ($(wildcard ../shared/data),)
MK_SHARED_DATA ?= $(abspath ../shared/data)
export MK_SHARED_DATA
endif
TEST_ENV = MK_TEST_DATA='$(CURDIR)/tests/data' MK_PROGRAM='$(call abs,$(BUILD))/merkhet' \
           MK_BUILD='$(call abs,$(BUILD))'

# --- what people ask for -----------------------------------------------------------------------

.PHONY: all
all: check-build-deps
	@$(MAKE) --no-print-directory V=release release-products

.PHONY: help
help:
	@echo 'make            the program and both libraries, in build/'
	@echo 'make demo       install what is missing, build, and show the main job'
	@echo 'make test       install what is missing, build, and run every test'
	@echo 'make bench      benchmarks, printed as tables'
	@echo 'make lint       clang-tidy, layers, white space, words that do not belong'
	@echo 'make fuzz       every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS) (clang)'
	@echo 'make coverage   lines covered by the tests, by file'
	@echo 'make docs       docs/operators.md from the registry'
	@echo 'make install    PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make clean      removes build/'
	@echo 'make V=debug program      one variant by hand: $(VARIANTS)'
	@echo 'make V=asan tests         its test programs, in build/asan/tests/'

.PHONY: demo
demo:
	@tools/deps.sh build test
	@$(MAKE) --no-print-directory -s all
	@$(TEST_ENV) tools/demo.sh

# A source that does not compile is a failed test like any other: the rest still runs (-k), and the
# last line still counts.
.PHONY: test
test:
	@tools/deps.sh build test
	@built=yes; \
	$(MAKE) --no-print-directory -s -k all || built=no; \
	$(MAKE) --no-print-directory -s -k V=asan tests fuzz-programs || built=no; \
	$(MAKE) --no-print-directory -s -k V=tsan thread-tests || built=no; \
	$(TEST_ENV) BUILT=$$built TESTS='$(TEST_SRC)' THREAD_TESTS='$(THREAD_SRC)' \
	    FUZZ_TARGETS='$(FUZZ_SRC)' tools/runtests.sh

.PHONY: bench
bench:
	@tools/deps.sh build
	@$(MAKE) --no-print-directory -s all
	@$(MAKE) --no-print-directory -s V=release bench-programs
	@$(TEST_ENV) BENCHES='$(BENCH_SRC)' tools/runbench.sh

.PHONY: lint
lint:
	@CSTD='$(CSTD)' INC='$(INC)' tools/lint.sh

.PHONY: fuzz
fuzz:
	@tools/deps.sh build fuzz
	@$(MAKE) --no-print-directory V=fuzz CC=clang fuzz-programs
	@$(TEST_ENV) FUZZ_SECONDS='$(FUZZ_SECONDS)' FUZZ_TARGETS='$(FUZZ_SRC)' tools/runfuzz.sh

.PHONY: coverage
coverage:
	@tools/deps.sh build test
	@$(MAKE) --no-print-directory V=coverage tests
	@find '$(BUILD)/coverage' -name '*.gcda' -delete
	@$(TEST_ENV) VARIANT=coverage TESTS='$(TEST_SRC)' tools/runtests.sh
	@tools/coverage.sh '$(BUILD)/coverage'

# docs/operators.md is written from the registry; a test compares the two.
.PHONY: docs
docs: all
	@tools/docs.sh '$(call abs,$(BUILD))/merkhet' > docs/operators.md

.PHONY: install
install: all
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(LIBDIR)/pkgconfig' \
	    '$(DESTDIR)$(PREFIX)/include' '$(DESTDIR)$(PREFIX)/share/man/man1'
	$(if $(PROGRAM),install -m 755 '$(PROGRAM)' '$(DESTDIR)$(PREFIX)/bin/merkhet')
	$(if $(VERIFY),install -m 755 '$(VERIFY)' '$(DESTDIR)$(PREFIX)/bin/merkhet-verify')
	install -m 644 '$(BUILD)/libmerkhet.a' '$(DESTDIR)$(LIBDIR)/libmerkhet.a'
	install -m 755 '$(BUILD)/libmerkhet.so.$(VERSION)' '$(DESTDIR)$(LIBDIR)/libmerkhet.so.$(VERSION)'
	ln -sf 'libmerkhet.so.$(VERSION)' '$(DESTDIR)$(LIBDIR)/libmerkhet.so.$(SOVERSION)'
	ln -sf 'libmerkhet.so.$(SOVERSION)' '$(DESTDIR)$(LIBDIR)/libmerkhet.so'
	$(if $(wildcard $(PUBLIC_HEADER)),install -m 644 '$(PUBLIC_HEADER)' '$(DESTDIR)$(PREFIX)/include/merkhet.h')
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' \
	    merkhet.pc.in > '$(DESTDIR)$(LIBDIR)/pkgconfig/merkhet.pc'
	install -m 644 docs/merkhet.1 '$(DESTDIR)$(PREFIX)/share/man/man1/merkhet.1'

.PHONY: clean
clean:
	rm -rf '$(BUILD)'

# --- what those are made of --------------------------------------------------------------------

.PHONY: release-products program tests thread-tests fuzz-programs bench-programs check-build-deps FORCE
release-products: $(PROGRAM) $(VERIFY) $(BUILD)/libmerkhet.a $(BUILD)/libmerkhet.so
program: $(if $(CLI_SRC),$(O)/merkhet) $(O)/libmk.a
tests: $(TEST_BIN) $(E2E_BIN)
thread-tests: $(THREAD_BIN) $(E2E_BIN)
fuzz-programs: $(FUZZ_BIN)
bench-programs: $(BENCH_BIN)

# Only says what is missing: installing is for the targets that announce it.
check-build-deps:
	@tools/deps.sh --check build

# Objects are rebuilt when the flags change, archives when a source comes or goes.
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CFLAGS_ALL)' | cmp -s - $@ || echo '$(CC) $(CFLAGS_ALL)' > $@

$(O)/objects: FORCE
	@mkdir -p $(@D)
	@echo '$(LIB_OBJ) $(CLI_OBJ) $(SUPPORT_OBJ)' | cmp -s - $@ || echo '$(LIB_OBJ) $(CLI_OBJ) $(SUPPORT_OBJ)' > $@

$(O)/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(call say,CC  )
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# The page's style and script are embedded by the assembler, which writes no dependency file.
$(O)/src/agent/page_assets.o: src/agent/page.css src/agent/page.js
$(O)/src/serve/assets.o: $(wildcard web/*)

# Every object with all its symbols, for our own programs and tests.
$(O)/libmk.a: $(LIB_OBJ) $(O)/objects
	@rm -f $@
	$(call say,AR  )
	$(Q)ar rcs $@ $(LIB_OBJ)

$(O)/merkhet: $(CLI_OBJ) $(O)/libmk.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $(CLI_OBJ) $(O)/libmk.a $(LDLIBS)

$(BUILD)/merkhet: $(O)/merkhet
	$(call say,COPY)
	$(Q)cp -f $< $@

$(BUILD)/merkhet-verify: $(VERIFY_OBJ)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) -Wl,--gc-sections -o $@ $(VERIFY_OBJ) $(filter-out -lmicrohttpd,$(LDLIBS))

# The public libraries show what the public header declares with MK_API, and nothing else. The
# shared one is told by a version script; the static one is linked into a single object whose
# hidden symbols become local.
$(O)/exports.map: $(wildcard $(PUBLIC_HEADER)) tools/exports.sh $(O)/objects
	$(Q)tools/exports.sh map $(PUBLIC_HEADER) > $@

$(BUILD)/libmerkhet.so.$(VERSION): $(LIB_OBJ) $(O)/exports.map $(O)/objects
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) -shared -Wl,-soname,libmerkhet.so.$(SOVERSION) -Wl,--no-undefined \
	    -Wl,--version-script=$(O)/exports.map -o $@ $(LIB_OBJ) $(LDLIBS)

$(BUILD)/libmerkhet.so: $(BUILD)/libmerkhet.so.$(VERSION)
	@ln -sf libmerkhet.so.$(VERSION) $(BUILD)/libmerkhet.so.$(SOVERSION)
	@ln -sf libmerkhet.so.$(SOVERSION) $@

$(BUILD)/libmerkhet.a: $(LIB_OBJ) $(O)/objects
	@rm -f $@
	$(call say,AR  )
	$(Q)$(if $(LIB_OBJ),ld -r -o $(O)/merkhet-all.o $(LIB_OBJ) && objcopy --localize-hidden $(O)/merkhet-all.o)
	$(Q)ar rcs $@ $(if $(LIB_OBJ),$(O)/merkhet-all.o)

# Test helpers are an archive, so that a test of base does not link what helps to test the store.
$(O)/libsupport.a: $(SUPPORT_OBJ) $(O)/objects
	@rm -f $@
	$(call say,AR  )
	$(Q)ar rcs $@ $(SUPPORT_OBJ)

$(O)/tests/%: $(O)/tests/%.o $(O)/libsupport.a $(O)/libmk.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< $(O)/libsupport.a $(O)/libmk.a $(LDLIBS) -lcmocka

# With clang's fuzzer in the fuzz variant, with our own driver in the others.
FUZZ_MAIN = $(if $(filter fuzz,$(V)),,$(O)/tests/fuzz/driver.o)
FUZZ_LINK = $(if $(filter fuzz,$(V)),-fsanitize=fuzzer)
$(FUZZ_BIN): $(O)/tests/fuzz/%: $(O)/tests/fuzz/%.o $(FUZZ_MAIN) $(O)/libsupport.a $(O)/libmk.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) $(FUZZ_LINK) -o $@ $< $(FUZZ_MAIN) $(O)/libsupport.a $(O)/libmk.a $(LDLIBS)

$(O)/bench/%: $(O)/bench/%.o $(BENCH_SUPPORT_OBJ) $(O)/libsupport.a $(O)/libmk.a
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS_ALL) -o $@ $< $(BENCH_SUPPORT_OBJ) $(O)/libsupport.a $(O)/libmk.a $(LDLIBS)

.SECONDARY:
.DELETE_ON_ERROR:
-include $(ALL_OBJ:.o=.d)
