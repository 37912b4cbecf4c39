package gateway

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// The headers that mirror a modern request must equal its body: programs that route by the headers
// and programs that execute the body must agree.

func mismatch(m *message, format string, values ...any) *refusal {
	return rpc(http.StatusBadRequest, codeHeaderMismatch, m.callID(), format, values...)
}

// checkMeta compares the protocol version in the header with that in the body.
func checkMeta(r *http.Request, m *message) *refusal {
	header := r.Header.Get(versionHeader)
	if !m.isCall() && m.version == nil {
		return nil // a notification need not have one
	}
	version, ok := wire.Text(m.version)
	switch {
	case header == "":
		return mismatch(m, "the MCP-Protocol-Version header is missing")
	case !ok || version == "":
		return rpc(http.StatusBadRequest, codeInvalidParams, m.callID(), "_meta must contain %q", wire.MetaVersion)
	case header != version:
		return mismatch(m, "the MCP-Protocol-Version header is %q, but _meta contains %q", header, version)
	}
	return nil
}

// checkMirrored compares the method and the name.
func checkMirrored(r *http.Request, m *message) *refusal {
	if m.Kind == wire.Response {
		return nil
	}
	methods := r.Header.Values(methodHeader)
	switch {
	case len(methods) != 1:
		return mismatch(m, "exactly one Mcp-Method header is required")
	case methods[0] != m.Method:
		return mismatch(m, "the Mcp-Method header is %q, but the method is %q", methods[0], m.Method)
	}
	name, mirrored := wire.MirroredName(m.Method, m.Params)
	if !mirrored {
		return nil
	}
	names := r.Header.Values(nameHeader)
	if len(names) != 1 || names[0] == "" {
		return mismatch(m, "exactly one Mcp-Name header is required for %s", m.Method)
	}
	if decoded, ok := wire.DecodeHeader(names[0]); !ok || decoded != name {
		return mismatch(m, "the Mcp-Name header is %q, but the request is for %q", names[0], name)
	}
	return nil
}

// checkParams compares the arguments that a tool requires to be repeated in headers. A tool that
// the server has not listed yet is not checked.
func (s *shared) checkParams(r *http.Request, m *message) *refusal {
	if m.Method != "tools/call" {
		return nil
	}
	tool, _ := wire.MirroredName(m.Method, m.Params)
	mirrors, _ := s.peer.Mirrors(tool)
	if len(mirrors) == 0 {
		return nil
	}
	arguments, _ := wire.Field(m.Params, "arguments")
	for _, mirror := range mirrors {
		name := paramHeader + mirror.Header
		given, value := r.Header.Values(name), mirror.Value(arguments)
		switch {
		case len(given) > 1:
			return mismatch(m, "only one %s header is allowed", name)
		case value == nil && len(given) == 1 && given[0] != "":
			return mismatch(m, "the %s header has no matching argument", name)
		case value == nil:
		case len(given) == 0:
			return mismatch(m, "the %s header is missing", name)
		case !wire.SameValue(given[0], value):
			return mismatch(m, "the %s header does not match its argument", name)
		}
	}
	return nil
}

// paramsOf returns the headers that repeat arguments.
func paramsOf(h http.Header) (params http.Header) {
	for name, values := range h {
		if strings.HasPrefix(name, paramHeader) {
			if params == nil {
				params = http.Header{}
			}
			params[name] = values
		}
	}
	return params
}

// modernStatus returns the HTTP status of an error response, and 0 for any other: the status of a
// server at a URL, or the one for its error code.
func modernStatus(m *wire.Message, upstream int) int {
	if m.Error == nil {
		return 0
	}
	if status := passedOn(upstream, true); status != 0 {
		return status
	}
	raw, _ := wire.Field(m.Error, "code")
	switch code, _ := strconv.Atoi(string(raw)); code {
	case codeUnknownMethod:
		return http.StatusNotFound
	case codeInvalidParams, codeNoCapability, codeNoVersion:
		return http.StatusBadRequest
	}
	return 0
}

// passedOn returns the HTTP status of an upstream if it means the same to a client, or 0. 401, 403
// and 407 are about the gateway's credentials there, and with sessions 404 would mean that the
// client's session is gone.
func passedOn(status int, modern bool) int {
	switch {
	case status < 400 || status > 499:
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired:
	case status == http.StatusNotFound && !modern:
	default:
		return status
	}
	return 0
}
