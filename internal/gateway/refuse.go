package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/gauze-mcp/gauze/internal/fault"
)

// refusal is a request that goes no further, and why.
type refusal struct {
	status  int
	text    string // of a plain refusal
	rpc     []byte // error object of JSON-RPC, instead of text
	id      []byte // raw; nil: not known
	headers []string
}

// plain is a refusal of HTTP's: nothing in the body was looked at.
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

// rpc is a refusal of a message: a JSON-RPC error with an HTTP status. id is
// the request's own, nil where it is not known: then there is none, since null
// is no id in MCP.
func rpc(status, code int, id []byte, format string, values ...any) *refusal {
	object, _ := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{code, fmt.Sprintf(format, values...)})
	return &refusal{status: status, rpc: object, id: id}
}

// busy is a refusal by a limit: it says which, and when to come again.
func busy(f *fault.Fault, id []byte) *refusal {
	refused := &refusal{status: http.StatusServiceUnavailable, rpc: f.RPCError(), id: id}
	refused.header("Retry-After", retryAfter)
	return refused
}

// retryAfter seconds: sessions and calls end all the time, so a short wait is
// worth a try.
const retryAfter = "5"

func notAllowed(allowed string) *refusal {
	refused := plain(http.StatusMethodNotAllowed, "this method is not served here")
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

// quietLog: what a client does wrong is told to the client. Our stderr is for
// the person who started us, and must not be filled by strangers.
var quietLog = log.New(io.Discard, "", 0)
