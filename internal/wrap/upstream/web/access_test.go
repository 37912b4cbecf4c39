package web

import (
	"fmt"
	"testing"
)

// Headers that differ in every request must not displace a token that is still in use.
func TestASecretThatIsStillSentIsNotForgotten(t *testing.T) {
	t.Parallel()
	const token = "zq81-plain-words-only"
	var s remoteSecrets
	for i := range 3 * maxLatestSecrets {
		s.add(token)
		s.add(fmt.Sprint("request-", i))
		if text := s.Redact("bad key " + token); text != "bad key «redacted»" {
			t.Fatalf("request %d: %s", i, text)
		}
	}
}
