package gateway

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Headers of the protocol.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	resumeHeader  = "Last-Event-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
	paramHeader   = "Mcp-Param-"
)

// post handles a POST: it checks the headers, reads and inspects the whole body, and passes it to
// the handler of its era.
func (g *Gateway) post(w http.ResponseWriter, r *http.Request, who principal) {
	if refused := checkForm(r); refused != nil {
		refused.write(w)
		return
	}
	b := g.openBody(w, who)
	defer g.bodies.close(b)
	body, refused := g.readBody(w, r, b)
	if refused != nil {
		refused.write(w)
		return
	}
	messages, batch, refused := parse(body)
	if refused != nil {
		refused.write(w)
		return
	}
	if !batch && isModern(r, &messages[0]) {
		g.modern(w, r, who, &messages[0])
		return
	}
	g.legacy(w, r, who, messages, batch)
}

// isModern reports whether the message or its header names a modern version.
func isModern(r *http.Request, m *message) bool {
	return m.version != nil || r.Header.Get(versionHeader) >= wire.FirstModern
}

// checkForm checks everything but the body.
func checkForm(r *http.Request) *refusal {
	if refused := checkVersion(r); refused != nil {
		return refused
	}
	switch {
	case !isJSON(r.Header["Content-Type"]):
		return plain(http.StatusUnsupportedMediaType, "the Content-Type header must be application/json")
	case r.Header.Get("Content-Encoding") != "":
		return plain(http.StatusUnsupportedMediaType, "the body must not have a Content-Encoding")
	}
	// "The client MUST include an Accept header, listing both application/json
	// and text/event-stream as supported content types."
	if json, events := accepts(r.Header.Values("Accept")); !json || !events {
		return plain(http.StatusNotAcceptable, "the Accept header must allow both application/json and text/event-stream")
	}
	if r.Header.Get(resumeHeader) != "" {
		return plain(http.StatusBadRequest, "Last-Event-ID is only allowed in a GET request")
	}
	return nil
}

// isJSON reports whether the values of Content-Type are one, and that of JSON.
func isJSON(types []string) bool {
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	media, _, err := mime.ParseMediaType(types[0])
	return err == nil && media == "application/json"
}

// checkVersion checks the header: "If the server receives a request with an invalid or unsupported
// MCP-Protocol-Version, it MUST respond with 400 Bad Request." Versions later than the known ones
// are left to the server.
func checkVersion(r *http.Request) *refusal {
	versions := r.Header.Values(versionHeader)
	if len(versions) > 1 {
		return plain(http.StatusBadRequest, "only one MCP-Protocol-Version header is allowed")
	}
	legacy := len(versions) == 1 && versions[0] != "" && versions[0] < wire.FirstModern
	if legacy && !slices.Contains(wire.LegacyVersions, versions[0]) {
		return plain(http.StatusBadRequest, "unsupported protocol version: must be one of "+strings.Join(wire.LegacyVersions, ", ")+" and "+wire.FirstModern)
	}
	return nil
}

func accepts(values []string) (json, events bool) {
	for _, value := range values {
		for one := range strings.SplitSeq(value, ",") {
			media, _, _ := strings.Cut(one, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "*/*":
				json, events = true, true
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				events = true
			}
		}
	}
	return json, events
}
