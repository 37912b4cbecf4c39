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

	"github.com/gauze-mcp/gauze/internal/redact"
	"github.com/gauze-mcp/gauze/internal/shell"
	"github.com/gauze-mcp/gauze/internal/wire"
)

// Spec says how a server is launched or reached: a plain value.
type Spec struct {
	Command string
	Args    []string
	Dir     string   // empty: ours
	Env     []string // nil: ours, less our own settings

	URL    string // instead of a command
	Header []Header
}

// Header goes with every request to a URL. Source says where its value came
// from, for the words of a fault; the value itself is never shown.
type Header struct{ Name, Value, Source string }

// CheckURL says what is wrong with an address.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case !strings.Contains(address, "://"):
		return errors.New("the URL has no scheme: want http:// or https:// in front")
	case err != nil:
		return fmt.Errorf("the URL cannot be read: %w", errors.Unwrap(err)) // the outer error repeats it, password and all
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the URL begins with %q: want http:// or https://", u.Scheme)
	case u.Host == "":
		return errors.New("the URL names no host: want something like https://example.com/mcp")
	case u.Port() != "" && !isPort(u.Port()):
		return fmt.Errorf("the URL names port %s: want a number from 1 to 65535", u.Port())
	case u.Fragment != "":
		return errors.New("the URL has a part behind #, which no server gets: leave it out")
	}
	return nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// CheckHeader says what is wrong with a header of the user's.
func CheckHeader(name, value string) error {
	switch canonical := http.CanonicalHeaderKey(name); {
	case !wire.HeaderName(name):
		return fmt.Errorf("%q cannot be the name of a header", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("the value of the header %s has a line end or another control character in it", name)
	case strings.HasPrefix(canonical, "Mcp-"), ourHeaders[canonical]:
		return fmt.Errorf("the header %s is set by gauze itself", name)
	}
	return nil
}

// ourHeaders are those the protocol, or the way of the bytes, decides about.
// Idempotency-Key is among them because net/http takes it as a licence to
// send a POST twice.
var ourHeaders = map[string]bool{"Accept": true, "Content-Type": true, "Content-Length": true, "Connection": true,
	"Transfer-Encoding": true, "Upgrade": true, "Last-Event-Id": true, "Idempotency-Key": true, "X-Idempotency-Key": true}

// Secrets are the values no output may show: of the environment, of headers, of the command line, of the address.
func (s Spec) Secrets() redact.Secrets {
	if s.URL == "" {
		return redact.JoinSecrets(redact.EnvironSecrets(s.Environment()), redact.CommandSecrets(s.argv()))
	}
	var headers []string
	for _, h := range s.Header {
		headers = append(headers, h.Value)
	}
	return redact.JoinSecrets(redact.KnownSecrets(headers...), redact.AddressSecrets(s.URL))
}

func (s Spec) argv() []string { return append([]string{s.Command}, s.Args...) }

// String is the command line, as a person would type it, or the address
// without its login and query. Whoever has to agree to it reads it; all others
// read Shown.
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

// Shown is String with every secret hidden where it stands.
func (s Spec) Shown() string { return s.ShownIn(shell.Here()) }

// ShownIn is Shown for the shell of a given platform.
func (s Spec) ShownIn(words shell.Words) string {
	if s.URL != "" {
		return redact.MaskAddress(s.String())
	}
	return words.Line(redact.MaskWords(s.argv())...)
}

// Label is a short name for a server that was given none: its program or its host. It is what a model reads.
func (s Spec) Label() string {
	if s.URL == "" {
		return path.Base(filepath.ToSlash(s.Command))
	}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return "a URL"
}

// Fingerprint returns a hash of every field, secrets included: Specs have the
// same one only if they start or reach the same server in the same way. A nil
// Env, which is ours, differs from an empty one.
func (s Spec) Fingerprint() string {
	s.Args, s.Header = append([]string{}, s.Args...), append([]Header{}, s.Header...)
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", s)) // quotes every string and never calls String
	return hex.EncodeToString(sum[:])
}

// Environment is what the server would have got without us.
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

// Downloads reports whether the command may fetch a package before the server
// starts, which takes as long as it takes.
func (s Spec) Downloads() bool {
	name := strings.ToLower(filepath.Base(s.Command))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".cmd"), ".exe")
	switch name {
	case "npx", "uvx", "bunx", "pnpx", "pipx", "docker", "podman", "npm", "pnpm", "yarn", "bun", "uv", "deno", "go", "cargo", "dotnet", "sh", "bash", "zsh", "cmd":
		return true
	}
	return false
}

// StartTimeout is how long the first answer may take: 10 s, and 60 s if the
// command may download first. Activity on stderr extends it (StartTimeoutMax).
func (s Spec) StartTimeout() time.Duration {
	if s.Downloads() {
		return 60 * time.Second
	}
	return 10 * time.Second
}

// StartTimeoutMax ends the extension by activity: a download that takes longer
// than three minutes is better explained than waited for.
const StartTimeoutMax = 180 * time.Second

// In returns the Spec with its directory resolved against dir, in which it starts if it names none.
func (s Spec) In(dir string) Spec {
	if dir != "" && s.URL == "" && !filepath.IsAbs(s.Dir) {
		s.Dir = filepath.Join(dir, s.Dir)
	}
	return s
}
