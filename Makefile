# Merkhet. `make` builds the release programs and libraries; see `make help`.

V ?= release
CC ?= gcc
PKGS = libcrypto libxxhash libzstd zlib libutf8proc
CSTD = -std=c17 -D_GNU_SOURCE
WARN = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
FP = -ffp-contract=off -fno-fast-math
INC = -Isrc -Iinclude
ARCH_FLAGS ?=

OPT_release = -O2 -g -DNDEBUG
OPT_debug = -O0 -g3 -DMK_DEBUG
OPT_asan = -O1 -g -DMK_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan = -O1 -g -DMK_DEBUG -fsanitize=thread -fno-omit-frame-pointer
OPT_coverage = -O0 -g -DMK_DEBUG --coverage
OPT_fuzz = -O1 -g -DMK_DEBUG -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

O = build/$(V)
CFLAGS_ALL = $(CSTD) $(WARN) $(FP) $(INC) -fPIC -pthread $(OPT_$(V)) $(ARCH_FLAGS) $(CFLAGS)
LDLIBS = $(shell pkg-config --libs $(PKGS) 2>/dev/null || echo -lcrypto -lxxhash -lzstd -lz -lutf8proc) -lm -pthread

LIB_DIRS = base store op load
LIB_SRC := $(foreach d,$(LIB_DIRS),$(wildcard src/$(d)/*.c)) $(wildcard src/*.c)
CLI_SRC := $(wildcard src/cli/*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(O)/%.o)
SUPPORT_OBJ := $(SUPPORT_SRC:%.c=$(O)/%.o)
TEST_SRC := $(wildcard tests/unit/*.c tests/property/*.c tests/oracle/*.c tests/golden/*.c tests/fault/*.c)
TEST_BIN := $(TEST_SRC:%.c=$(O)/%)

.PHONY: all
all: build/merkhet

$(O)/libmerkhet.a: $(LIB_OBJ)
	@rm -f $@
	@ar rcs $@ $(LIB_OBJ)

$(O)/merkhet: $(CLI_OBJ) $(O)/libmerkhet.a
	$(CC) $(CFLAGS_ALL) -o $@ $(CLI_OBJ) $(O)/libmerkhet.a $(LDLIBS)

build/merkhet: $(O)/merkhet
	@cp $< $@

$(O)/%.o: %.c
	@mkdir -p $(dir $@)
	$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(O)/tests/%: $(O)/tests/%.o $(SUPPORT_OBJ) $(O)/libmerkhet.a
	@mkdir -p $(dir $@)
	$(CC) $(CFLAGS_ALL) -o $@ $< $(SUPPORT_OBJ) $(O)/libmerkhet.a $(LDLIBS) -lcmocka

.PHONY: tests clean
tests: $(TEST_BIN)

clean:
	rm -rf build

.SECONDARY:
-include $(shell find $(O) -name '*.d' 2>/dev/null)
