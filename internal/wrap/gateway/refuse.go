package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/gauze-mcp/gauze/fault"
)

// refusal is the response to a request that is rejected.
type refusal struct {
	status  int
	text    string // of a plain refusal
	rpc     []byte // JSON-RPC error object, instead of text
	id      []byte // raw; nil if not known
	headers []string
}

// plain returns a refusal in HTTP terms: the body was not inspected.
func plain(status int, text string) *refusal { return &refusal{status: status, text: text} }

// Error codes of JSON-RPC and of 2026-07-28.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeHeaderMismatch = -32020
	codeNoCapability   = -32021
	codeNoVersion      = -32022
)

// rpc returns the refusal of a message: a JSON-RPC error with an HTTP status. id is that of the
// request; if it is nil the response has none, since MCP does not allow null.
func rpc(status, code int, id []byte, format string, values ...any) *refusal {
	object, _ := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{code, fmt.Sprintf(format, values...)})
	return &refusal{status: status, rpc: object, id: id}
}

// busy returns a refusal because of a limit, with the time to retry.
func busy(f *fault.Fault, id []byte) *refusal {
	refused := &refusal{status: http.StatusServiceUnavailable, rpc: f.RPCError(), id: id}
	refused.header("Retry-After", retryAfter)
	return refused
}

// retryAfter is in seconds. Sessions and calls end all the time, so it is short.
const retryAfter = "5"

func notAllowed(allowed string) *refusal {
	refused := plain(http.StatusMethodNotAllowed, "method not allowed")
	refused.header("Allow", allowed)
	return refused
}

func (f *refusal) header(name, value string) { f.headers = append(f.headers, name, value) }

func (f *refusal) write(w http.ResponseWriter) {
	h := w.Header()
	for i := 0; i < len(f.headers); i += 2 {
		h.Set(f.headers[i], f.headers[i+1])
	}
	if f.rpc == nil {
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(f.status)
		io.WriteString(w, strings.TrimSuffix(f.text, "\n")+"\n")
		return
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	body := []byte(`{"jsonrpc":"2.0",`)
	if f.id != nil {
		body = append(append(append(body, `"id":`...), f.id...), ',')
	}
	w.Write(append(append(append(body, `"error":`...), f.rpc...), '}'))
}
