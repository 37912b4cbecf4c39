package repair

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/regex"
	"github.com/gauze-mcp/gauze/internal/thirdparty/jsonschema"
)

// formats are checked leniently, and only reject what no server accepts. Servers parse dates
// without a time zone and UUIDs without dashes, and other formats in too many ways to reject
// anything.
var formats = []*jsonschema.Format{
	textFormat("date", func(text string) bool { return readsAs(text, time.DateOnly) }),
	textFormat("time", func(text string) bool {
		return readsAs(strings.TrimSuffix(strings.ToUpper(text), "Z"), "15:04:05", "15:04", "15:04:05Z07:00", "15:04Z07:00")
	}),
	textFormat("date-time", func(text string) bool {
		return readsAs(strings.Replace(strings.ToUpper(text), " ", "T", 1), "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05",
			"2006-01-02T15:04Z07:00", "2006-01-02T15:04", time.DateOnly, "2006-01-02T15:04:05Z0700")
	}),
	textFormat("email", func(text string) bool {
		name, host, ok := strings.Cut(text, "@")
		return ok && name != "" && host != "" && !strings.ContainsAny(text, " \t\n")
	}),
	textFormat("uri", hasScheme),
	textFormat("url", hasScheme),
	textFormat("uuid", uuidForm.MatchString),
	textFormat("ipv4", func(text string) bool { a, err := netip.ParseAddr(text); return err == nil && a.Is4() }),
	textFormat("ipv6", func(text string) bool { a, err := netip.ParseAddr(text); return err == nil && a.Is6() }),
	anything("duration"), anything("hostname"), anything("idn-hostname"), anything("idn-email"), anything("iri"),
	anything("iri-reference"), anything("uri-reference"), anything("uri-template"), anything("json-pointer"),
	anything("relative-json-pointer"), anything("period"), anything("semver"), anything("password"),
}

var (
	uuidForm   = regex.New(`^(?:urn:uuid:|\{)?[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\}?$`)
	schemeForm = regex.New(`^[A-Za-z][A-Za-z0-9+.-]*:\S`)
)

func hasScheme(text string) bool { return schemeForm.MatchString(text) }

func readsAs(text string, layouts ...string) bool {
	for _, layout := range layouts {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}

func textFormat(name string, fits func(string) bool) *jsonschema.Format {
	return &jsonschema.Format{Name: name, Validate: func(value any) error {
		if text, ok := value.(string); ok && (len(text) > maxSubject || !fits(text)) {
			return fmt.Errorf("not a %s", name)
		}
		return nil
	}}
}

func anything(name string) *jsonschema.Format {
	return &jsonschema.Format{Name: name, Validate: func(any) error { return nil }}
}
