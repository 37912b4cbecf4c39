package redact

import (
	"strings"
	"testing"
)

// What is said about a flag is not the flag's value.
func TestWordsAboutAFlagAreShown(t *testing.T) {
	for _, text := range []string{
		"Provide a token with the --access-token flag or set NOTES_TOKEN",
		"either --api-key or --api-key-file is required",
		"the option --client-secret must be given",
		"No API key. Use --key=<your-acme-api-key>",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for _, text := range []string{
		"started with --access-token flagpole7",
		"started with --api-key orinoco",
		"--key=<Zq7secret>",
	} {
		if got := Text(text); got == text {
			t.Errorf("shown: %q", got)
		}
	}
}

// The name of a variable is not a secret: gauze's own advice has it after flags of gauze.
func TestNamesOfVariablesAreShown(t *testing.T) {
	for _, text := range []string{
		"send it in a header: `gauze run --url https://example.com/mcp --header-env Authorization=NAME`",
		"gauze run --header-env Authorization=MY_VARIABLE --url URL",
		"gauze run --header-env X-Api-Key=NOTES_TOKEN --header-env Cookie=NOTES_COOKIE --url URL",
		"gauze serve --token-env GAUZE_TOKEN.",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	for text, secret := range map[string]string{
		"--header-env Authorization=hunter2":                             "hunter2",
		"--header-env Authorization=ABC.def":                             "ABC",
		"--header-env Authorization=AKIAIOSFODNN7EXAMPLE":                "AKIA",
		"--header-env Authorization=NAME with Authorization: Bearer xyz": "xyz",
		"Authorization: Bearer abc --header-env Authorization=NAME":      "abc",
		"--header Authorization=NAME":                                    "NAME",
	} {
		if got := Text(text); strings.Contains(got, secret) {
			t.Errorf("shown: %q", got)
		}
	}
}
