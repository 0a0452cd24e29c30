/* cmd_verify.c — verify: whether a bundle holds, without a store. Layer: cli.
 *
 * The same code as the program merkhet-verify. */
#include "claim/bundle.h"
#include "cli/cli.h"

typedef struct verifying {
    mk_cli *cli;
    mk_arena arena;
    mk_buf text, out;
} verifying;

static mk_code check_bundle(verifying *v, mk_err *err)
{
    const mk_verify_options options = {.strict = mk_options_has(&v->cli->options, "strict")};
    mk_bundle_check check;
    mk_code rc;
    MK_TRY(rc, mk_bundle_verify(mk_buf_view(&v->text), &options, &v->arena, &check, err));
    if (v->cli->json)
        mk_bundle_check_json(&check, &v->out);
    else
        mk_bundle_check_text(&check, &v->out);
    MK_TRY(rc, mk_buf_done(&v->out, err));
    MK_TRY(rc, v->cli->json ? mk_cli__put_json(v->cli, mk_buf_view(&v->out), err)
                            : mk_cli__put_buf(v->cli, &v->out, err));
    MK_TRY(rc, mk_cli__flush(err));
    if (!mk_bundle_check_holds(&check)) {
        rc = mk_fail(err, MK_E_STATE, check.sound ? "the answer does not follow from its evidence"
                                                  : "the bundle is not what was written");
        mk_err_reason(err, check.sound ? "unsupported" : "damaged");
        mk_err_retry(err, MK_RETRY_NEVER);
    }
out:
    return rc;
}

static mk_code print_proof(verifying *v, const char *claim, mk_err *err)
{
    mk_code rc;
    MK_TRY(rc, mk_bundle_prove(mk_buf_view(&v->text), mk_str_of(claim), &v->arena, &v->out, err));
    MK_TRY(rc, mk_buf_done(&v->out, err));
    rc = mk_cli__put_json(v->cli, mk_buf_view(&v->out), err);
out:
    return rc;
}

static mk_code check_proof(verifying *v, const char *root, mk_err *err)
{
    char hex[65] = "";
    bool holds;
    mk_str why;
    mk_code rc;
    if (strlen(root) == 64)
        memcpy(hex, root, 64);
    MK_TRY(rc, mk_proof_verify(mk_buf_view(&v->text), hex, &v->arena, &holds, &why, err));
    if (!holds) {
        rc = mk_fail(err, MK_E_STATE, "the proof does not hold: %.*s", MK_STR_ARG(why));
        mk_err_reason(err, "unproved");
        mk_err_retry(err, MK_RETRY_NEVER);
        goto out;
    }
    mk_buf_z(&v->out, v->cli->json ? "{\"holds\":true,\"reason\":" : "the proof holds: ");
    if (v->cli->json)
        mk_canon_string(&v->out, why);
    else
        mk_text_safe(&v->out, why);
    mk_buf_z(&v->out, v->cli->json ? "}" : "\n");
    MK_TRY(rc, mk_buf_done(&v->out, err));
    rc = v->cli->json ? mk_cli__put_json(v->cli, mk_buf_view(&v->out), err)
                      : mk_cli__put_buf(v->cli, &v->out, err);
out:
    return rc;
}

static mk_code run_verify(mk_cli *cli, mk_err *err)
{
    verifying v = {.cli = cli};
    const char *claim = mk_options_value(&cli->options, "claim");
    const char *root = mk_options_value(&cli->options, "root");
    mk_code rc;
    if (mk_options_has(&cli->options, "proof") != (claim != NULL) || (claim != NULL && root != NULL))
        return mk_fail_usage(err, "--claim and --proof go together, --root goes alone");
    mk_arena_init(&v.arena, cli->alloc);
    mk_buf_init(&v.text, cli->alloc);
    mk_buf_init(&v.out, cli->alloc);
    MK_TRY(rc, mk_cli__read_all(cli->options.words[0], MK_BUNDLE_MAX, "the bundle", &v.text, err));
    if (claim != NULL)
        rc = print_proof(&v, claim, err);
    else if (root != NULL)
        rc = check_proof(&v, root, err);
    else
        rc = check_bundle(&v, err);
out:
    mk_buf_free(&v.out);
    mk_buf_free(&v.text);
    mk_arena_free(&v.arena);
    return rc;
}

static const mk_option verify_options[] = {
    {.name = "strict", .doc = "every claim has to say where it was read"},
    {.name = "claim", .value = "ID", .doc = "the claim that --proof is about"},
    {.name = "proof", .doc = "print the proof of one claim: the rows it cites and their way to the root"},
    {.name = "root", .value = "HEX", .doc = "the file is a proof; check it against this root"},
    {0},
};

const mk_command mk_commands_verify[] = {
    {.name = "verify",
     .words = "BUNDLE",
     .summary = "checks an answer and all it rests on, without a store",
     .help = "BUNDLE is a file that `merkhet ask --save-bundle` wrote; - is standard input. Every digest is\n"
             "computed again, every claim is looked for in the results it cites. Exit status 1 when a byte\n"
             "was changed or a claim does not hold. The program merkhet-verify does the same and nothing\n"
             "else.",
     .example = "merkhet assert --store team --node ada --label Person --from 2024-01-01\n"
                "merkhet ask \"How many versions does ada have?\" --store team --save-bundle answer.json\n"
                "merkhet verify answer.json",
     .options = verify_options,
     .words_min = 1,
     .words_max = 1,
     .run = run_verify},
    {0},
};
