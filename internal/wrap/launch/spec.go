package launch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Spec describes how a server is launched or reached. It is a plain value.
type Spec struct {
	Command string
	Args    []string
	Dir     string   // working directory; empty for gauze's own
	Env     []string // nil for gauze's own without GAUZE_ variables

	URL    string // instead of a command
	Header []Header
	Login  Login // for the URL; a Header with Authorization takes its place

	// Others are further fields of the server's entry, as NAME=JSON. gauze does not use them, but its
	// client may, so the user who decides about the entry sees them. Only an entry as written has them.
	// A server of gauze up has here which part of Env its entry sets, as NAME=VALUE.
	Others []string
}

// Header is sent with every request to a URL. Source describes where the value comes from, for
// messages; the value itself is never shown.
type Header struct{ Name, Value, Source string }

// CheckURL returns an error if address is not a valid URL of a server.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case !strings.Contains(address, "://"):
		return errors.New("the URL must start with http:// or https://")
	case err != nil:
		return fmt.Errorf("malformed URL: %w", errors.Unwrap(err)) // the outer error contains the URL with its password
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("invalid URL scheme %q: must be http or https", u.Scheme)
	case u.Host == "":
		return errors.New("the URL has no host: use a URL such as https://example.com/mcp")
	case u.Port() != "" && !isPort(u.Port()):
		return fmt.Errorf("invalid URL port %s: must be between 1 and 65535", u.Port())
	case u.Fragment != "":
		return errors.New("the URL has a fragment (the part after #), which is never sent to a server: remove it")
	}
	return nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// CheckHeader returns an error if a header of the user is not valid.
func CheckHeader(name, value string) error {
	switch canonical := http.CanonicalHeaderKey(name); {
	case !wire.HeaderName(name):
		return fmt.Errorf("invalid header name %q", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("invalid value for header %s: it contains a line break or another control character", name)
	case strings.HasPrefix(canonical, "Mcp-"), ourHeaders[canonical]:
		return fmt.Errorf("gauze itself sets the %s header: remove yours", name)
	}
	return nil
}

// ourHeaders are the headers that MCP or HTTP itself determines. Idempotency-Key is among them
// because net/http sends a POST that has it again.
var ourHeaders = map[string]bool{"Accept": true, "Content-Type": true, "Content-Length": true, "Connection": true,
	"Transfer-Encoding": true, "Upgrade": true, "Last-Event-Id": true, "Idempotency-Key": true, "X-Idempotency-Key": true}

// Secrets returns the values that no output may show: those in the environment, the headers, the
// login, the command line and the URL.
func (s Spec) Secrets() redact.Secrets {
	if s.URL == "" {
		return redact.JoinSecrets(redact.EnvironSecrets(s.Environment()), redact.CommandSecrets(s.argv()))
	}
	values := []string{s.Login.ClientSecret}
	for _, h := range s.Header {
		values = append(values, h.Value)
	}
	return redact.JoinSecrets(redact.KnownSecrets(values...), redact.AddressSecrets(s.URL))
}

func (s Spec) argv() []string { return append([]string{s.Command}, s.Args...) }

// String returns the command line as a user would type it, or the URL without user and query. It is
// for users who must approve it; everything else uses Shown.
func (s Spec) String() string {
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil {
			return "a URL"
		}
		return u.Scheme + "://" + u.Host + u.EscapedPath()
	}
	return shell.Here().Line(s.argv()...)
}

// Shown returns String with every secret masked.
func (s Spec) Shown() string { return s.ShownIn(shell.Here()) }

// ShownIn returns Shown for the shell of a given platform.
func (s Spec) ShownIn(words shell.Words) string {
	if s.URL != "" {
		return redact.MaskAddress(s.String())
	}
	return words.Line(redact.MaskWords(s.argv())...)
}

// Label returns a short name for a server without one: its program or its host. Models read it.
func (s Spec) Label() string {
	if s.URL == "" {
		return path.Base(filepath.ToSlash(s.Command))
	}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "a URL"
}

// Fingerprint returns a hash of every field, secrets included. Two Specs have the same one only if
// they start or reach the same server in the same way. A nil Env differs from an empty one.
func (s Spec) Fingerprint() string {
	s.Args, s.Header, s.Login.Scopes = append([]string{}, s.Args...), append([]Header{}, s.Header...), append([]string{}, s.Login.Scopes...)
	s.Others = append([]string{}, s.Others...)
	type login Login // without the methods that hide the secret
	own := login(s.Login)
	s.Login = Login{}
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v %#v", s, own)) // quotes every string and never calls String
	return hex.EncodeToString(sum[:])
}

// Environment returns the environment that the server would have without gauze.
func (s Spec) Environment() []string {
	if s.Env != nil {
		return s.Env
	}
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "GAUZE_") {
			env = append(env, pair)
		}
	}
	return env
}

// Downloads reports whether the command may fetch a package before the server starts.
func (s Spec) Downloads() bool {
	name := ProgramName(s.Command)
	return Fetches(name) || IsShell(name)
}

// StartTimeout returns how long the first response may take: 10s, or 60s if the command may
// download first. Activity on stderr extends it up to StartTimeoutMax.
func (s Spec) StartTimeout() time.Duration {
	if s.Downloads() {
		return 60 * time.Second
	}
	return 10 * time.Second
}

// StartTimeoutMax limits the extension of StartTimeout: it is better to explain a download that
// takes longer than to wait for it.
const StartTimeoutMax = 180 * time.Second

// In returns s with its directory resolved against dir, which is used if s has none.
func (s Spec) In(dir string) Spec {
	if dir != "" && s.URL == "" && !filepath.IsAbs(s.Dir) {
		s.Dir = filepath.Join(dir, s.Dir)
	}
	return s
}
