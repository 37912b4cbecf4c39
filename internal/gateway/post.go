package gateway

import (
	"mime"
	"net/http"
	"slices"
	"strings"
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

// firstModern is the version from which on there are no sessions.
const firstModern = "2026-07-28"

// legacyVersions are those a header may name.
var legacyVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// post is the story of one POST: its form is checked, its body read whole and
// inspected, and then its era decides who goes on with it.
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

// isModern: a modern message says so itself, or its header does.
func isModern(r *http.Request, m *message) bool {
	return m.version != nil || r.Header.Get(versionHeader) >= firstModern
}

// checkForm looks at everything but the body.
func checkForm(r *http.Request) *refusal {
	if refused := checkVersion(r); refused != nil {
		return refused
	}
	switch media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case err != nil || media != "application/json" || len(r.Header.Values("Content-Type")) > 1:
		return plain(http.StatusUnsupportedMediaType, "Content-Type has to be application/json")
	case r.Header.Get("Content-Encoding") != "":
		return plain(http.StatusUnsupportedMediaType, "the body must not be encoded")
	}
	// "The client MUST include an Accept header, listing both application/json
	// and text/event-stream as supported content types."
	if json, events := accepts(r.Header.Values("Accept")); !json || !events {
		return plain(http.StatusNotAcceptable, "Accept has to allow both application/json and text/event-stream")
	}
	if r.Header.Get(resumeHeader) != "" {
		return plain(http.StatusBadRequest, "Last-Event-ID belongs to a GET")
	}
	return nil
}

// checkVersion: "If the server receives a request with an invalid or
// unsupported MCP-Protocol-Version, it MUST respond with 400 Bad Request." A
// version later than those we know is the server's to judge.
func checkVersion(r *http.Request) *refusal {
	versions := r.Header.Values(versionHeader)
	if len(versions) > 1 {
		return plain(http.StatusBadRequest, "more than one MCP-Protocol-Version")
	}
	if len(versions) == 1 && versions[0] != "" && versions[0] < firstModern && !slices.Contains(legacyVersions, versions[0]) {
		return plain(http.StatusBadRequest, "this protocol version is not supported; supported are "+strings.Join(legacyVersions, ", ")+" and "+firstModern)
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
