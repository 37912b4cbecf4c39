package redact

import "testing"

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
