package fault

import (
	"fmt"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
)

// Explain returns the whole entry for the user: what it means, why it happens, what gauze did, what
// the user can do.
func (e Entry) Explain(color bool) string {
	p := paint(color)
	var b strings.Builder
	headline(&b, p, string(e.Code))
	fmt.Fprintf(&b, "%s\n", plaintext.Wrap(plaintext.UpperFirst(strings.TrimSuffix(e.Title, "."))+".", "  "))
	section := func(title string) { fmt.Fprintf(&b, "\n  %s\n", p.strong(title)) }
	for _, s := range []struct{ title, text string }{
		{"What it means", e.Means}, {"Why it happens", e.Why}, {"What gauze did", e.Did},
	} {
		if s.text != "" {
			section(s.title)
			fmt.Fprintf(&b, "%s\n", plaintext.Wrap(s.text, "    "))
		}
	}
	section("What you can do")
	for _, s := range e.Do {
		fmt.Fprintf(&b, "%s\n", plaintext.Wrap(s.Text, "    "))
		if s.Command != "" {
			fmt.Fprintf(&b, "      %s\n", p.command(s.Command))
		}
	}
	if len(e.Follows) > 0 {
		section("Possible causes")
		var codes []string
		for _, code := range e.Follows {
			codes = append(codes, string(code))
		}
		fmt.Fprintf(&b, "%s\n", plaintext.Wrap(strings.Join(codes, ", "), "    "))
	}
	if e.Kind != KindFault {
		return b.String()
	}
	section("What the caller is told")
	fmt.Fprintf(&b, "%s\n", plaintext.Wrap(e.Retry.words(), "    "))
	fmt.Fprintf(&b, "    %s\n", p.faint(fmt.Sprintf("JSON-RPC error %d, retry advice %q", e.RPC, e.Retry)))
	return b.String()
}

func (a Advice) words() string {
	switch a {
	case RetryNow:
		return "The call can be repeated immediately."
	case RetryLater:
		return "The call can be repeated later."
	case VerifyFirst:
		return "The call may have taken effect; check before repeating it. A read-only call, or one that was not sent, can be repeated."
	case ChangeCall:
		return "The same call would fail again; it must be changed."
	}
	return "Retrying will not help; the user must fix the problem."
}
