package main

import (
	"bufio"
	"bytes"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// The suite calls tools and prompts by the names that its server gives them, and gauze up calls them KEY__NAME. Between the
// two, this maps the names and nothing else. Each name is that of one of the servers, spread evenly, so that calls reach
// all of them. In lists, what another server calls the same keeps its prefix.

// upKeys are the servers of the file: one program, three times.
var upKeys = []string{"web", "pipe", "other"}

// advertised returns the name that gauze up has for a name of the suite, which may have it from a list.
func advertised(name string) string {
	if key, _, found := strings.Cut(name, "__"); found && slices.Contains(upKeys, key) {
		return name
	}
	sum := fnv.New32a()
	sum.Write([]byte(name))
	return names.Advertised(upKeys[sum.Sum32()%uint32(len(upKeys))], name)
}

// nameMapper returns the address of a server that passes everything on to another, with the names mapped.
func nameMapper(to string) (address string, stop func(), err error) {
	target, err := url.Parse(to)
	if err != nil {
		return "", nil, err
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL, r.Out.Host = target, r.In.Host
			if _, own, _ := net.SplitHostPort(r.In.Context().Value(http.LocalAddrContextKey).(net.Addr).String()); own != "" {
				there := strings.NewReplacer(":"+own, ":"+target.Port()) // gauze accepts its own address only
				r.Out.Host = there.Replace(r.Out.Host)
				if origin := r.In.Header.Get("Origin"); origin != "" {
					r.Out.Header.Set("Origin", there.Replace(origin))
				}
			}
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Del("Content-Length")
			r.ContentLength = -1
			r.Body = &unmapped{r.Body, bufio.NewReader(r.Body), nil}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has left
		}
		body = mapRequest(body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if name, ok := wire.DecodeHeader(r.Header.Get("Mcp-Name")); ok && name != "" && named[r.Header.Get("Mcp-Method")] {
			r.Header.Set("Mcp-Name", advertised(name))
		}
		proxy.ServeHTTP(w, r)
	}))
	return server.URL + target.Path, func() { server.CloseClientConnections(); server.Close() }, nil
}

// named are the methods whose params have a name.
var named = map[string]bool{"tools/call": true, "prompts/get": true}

// mapRequest replaces the name in a request.
func mapRequest(body []byte) []byte {
	m, _, err := wire.Scan(body)
	if err != nil {
		return body
	}
	object := m.Params
	if m.Method == "completion/complete" {
		object, _ = wire.Field(m.Params, "ref")
	} else if !named[m.Method] {
		return body
	}
	raw, _ := wire.Field(object, "name")
	name, ok := wire.Text(raw)
	if !ok {
		return body
	}
	return wire.Replace(nil, body, wire.Edit{Old: raw, New: []byte(`"` + advertised(name) + `"`)})
}

// unmapped is the body of a response, with the names of the suite.
type unmapped struct {
	io.Closer
	lines *bufio.Reader
	rest  []byte
}

// aName is an item of a list with the name that gauze up gave it.
var aName = regexp.MustCompile(`"name":"(?:` + strings.Join(upKeys, "|") + `)__([^"\\]+)"`)

func (u *unmapped) Read(p []byte) (n int, err error) {
	if len(u.rest) == 0 {
		line, err := u.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		u.rest = aName.ReplaceAllFunc(line, func(found []byte) []byte {
			name := string(aName.FindSubmatch(found)[1])
			if string(found) != `"name":"`+advertised(name)+`"` {
				return found // another server's
			}
			return []byte(`"name":"` + name + `"`)
		})
	}
	n = copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}
