package plaintext

import "testing"

func TestUpperFirst(t *testing.T) {
	for text, want := range map[string]string{"": "", "the": "The", "“a” is": "“a” is", "école": "École", "\xff": "\xff"} {
		if got := UpperFirst(text); got != want {
			t.Errorf("UpperFirst(%q) is %q, want %q", text, got, want)
		}
	}
}
