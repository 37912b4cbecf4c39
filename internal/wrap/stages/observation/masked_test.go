package observation

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/wrap/upstream"
)

// Of a line whose end is missing, the last word may be a part of a secret.
func TestPartsOfSecretsAreMasked(t *testing.T) {
	secrets := redact.KnownSecrets("correct-horse-battery-staple")
	s := &Stage{Redact: secrets.Redact, RedactPart: secrets.RedactPart}
	for _, line := range []upstream.Line{{Open: true}, {Cut: true}, {Cut: true, Stdout: true}} {
		line.Text = "tok correct-ho"
		if got := s.masked([]upstream.Line{line}); got[0].Text != "tok «redacted»" {
			t.Errorf("%+v", got)
		}
	}
	whole := upstream.Line{Text: "this is correct"}
	if got := s.masked([]upstream.Line{whole}); got[0] != whole {
		t.Errorf("%+v", got)
	}
}
