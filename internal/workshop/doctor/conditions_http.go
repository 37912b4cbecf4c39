package doctor

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// redirected reads where a redirect leads: to a different host, or to a different path of the same
// one.
func (x *exam) redirected(m *match) bool {
	from, err := url.Parse(x.URL)
	if err != nil || x.URL == "" {
		return false
	}
	for _, answer := range x.HTTP {
		to, err := from.Parse(answer.Location)
		if err != nil || answer.Status/100 != 3 || answer.Location == "" {
			continue
		}
		m.said = "HTTP " + strconv.Itoa(answer.Status) + ", Location: " + answer.Location
		if from.Host == to.Host {
			m.names["target"] = " to " + to.EscapedPath()
		} else {
			m.names["other"] = to.Scheme + "://" + to.Host
		}
		return true
	}
	return false
}

// slashMoved reports whether a redirect only adds or removes the slash at the end.
func (x *exam) slashMoved(m *match) bool {
	at, err := url.Parse(x.URL)
	return err == nil && m.names["target"] != "" && m.names["target"] == " to "+turned(at).EscapedPath()
}

// turned returns an address with the slash at its end added or removed.
func turned(u *url.URL) *url.URL {
	other := *u
	if other.RawPath = ""; strings.HasSuffix(u.Path, "/") {
		other.Path = strings.TrimSuffix(u.Path, "/")
	} else {
		other.Path += "/"
	}
	return &other
}

func notBrowserSession(m *match) bool {
	lower := strings.ToLower(m.said)
	return !strings.Contains(lower, "browser session") && !strings.Contains(lower, "sso session") &&
		!strings.Contains(lower, "session token") && !strings.Contains(lower, "session key")
}

var (
	html = regex.New(`(?i)text/html|<!doctype html|<html`)
)

// Patterns for the conditions of clues.
var (
	brokeOff = regex.New(`UnhandledPromiseRejection|Traceback \(most recent|panic: |Unhandled exception\.|Uncaught [A-Z]\w*Error`)

	// of a service that the server calls

)

// execWithoutInput reports whether the server is started in a running container or pod without its
// stdin.
func (c command) execWithoutInput() bool {
	return c.runs("docker", "podman", "kubectl", "oc", "nerdctl") && c.has("exec") && !c.interactive() && !c.has("--stdin", "compose", "-d")
}

// startsHTTP reports whether the arguments ask a local server for a transport other than stdio.
func (x *exam) startsHTTP() bool {
	return len(x.Command) > 0 && !x.cmd.remote() && httpMode.MatchString(x.cmd.line) && !stdioMode.MatchString(x.cmd.line) &&
		!brokeOff.MatchString(x.text)
}

var (
	httpMode = regex.New(`(?i)(?:^|[\s(])(?:(?:--?(?:transport|mode|transport-type|t)|(?:MCP_)?TRANSPORT(?:_TYPE|_MODE)?)[ ` +
		`=]['"]?(?:sse|http|streamable[-_]?http|shttp)\b|transport=['"]?(?:sse|http|streamable)|--(?:sse|http|streamable[-_]?http|` +
		`stateless-http)(?:\s|$))`)
	stdioMode = regex.New(`(?i)\bstdio\b`)
)

var (
	ipv4Listener = regex.New(`(?i)\bIPv4\b[^\n]{0,60}\bTCP\b`)
)

func askedByIPv4(m *match) bool {
	address := "127.0.0.1:" + m.names["port"]
	return (strings.Contains(m.x.cmd.line, address) || strings.Contains(m.x.text, address)) && !ipv4Listener.MatchString(m.x.text)
}

func localRoot(m *match) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(m.x.cmd.address(), "https://"), "http://")
	return local.MatchString(rest) && !strings.Contains(strings.TrimSuffix(rest, "/"), "/")
}

func sseForHTTPClient(m *match) bool {
	return m.x.NoSSE && strings.HasSuffix(strings.TrimRight(m.x.URL, "/"), "/sse") && m.x.onlySymptom(m, nil)
}

func answeredByPage(m *match) bool {
	for _, answer := range m.x.HTTP {
		if answer.Status/100 == 2 && html.MatchString(answer.ContentType+" "+answer.Body) {
			m.said = "HTTP 200, content type " + answer.ContentType
			return true
		}
	}
	return false
}

func listensOnPort(m *match) bool {
	if !m.x.Limit.Passed || m.x.Limit.Listening == 0 {
		return false
	}
	m.names["port"] = strconv.Itoa(m.x.Limit.Listening)
	m.said = "the server is listening on a port and has written nothing to stdout"
	return true
}
