package gauze

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/internal/correct"
	"github.com/gauze-mcp/gauze/internal/repair"
)

// failedCall is how a dispatched call failed. The zero value means that it did not.
type failedCall struct {
	err    error
	result *mcp.CallToolResult // if the failure is a result; nil if it is an error
	text   string              // what the server or the tool said
	code   int                 // of a JSON-RPC error
}

// failureOf reads how dispatch says that a call failed.
func failureOf(result any, err error) failedCall {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		return failedCall{err: err, text: rpc.Message, code: int(rpc.Code)}
	}
	if err != nil {
		return failedCall{err: err, text: err.Error()}
	}
	answer, ok := result.(*mcp.CallToolResult)
	if !ok || answer == nil || !answer.IsError {
		return failedCall{}
	}
	f := failedCall{result: answer, text: failure(answer, nil).Text, err: answer.GetError()}
	if f.err == nil {
		f.err = errors.New(cmp.Or(f.text, "the tool returned an error"))
	}
	return f
}

// rejection returns how a call with these arguments failed, as far as it may be corrected. misfit is
// how they do not match the tool's schema; nil if they do, as far as is known.
func (f failedCall) rejection(arguments []byte, misfit *repair.Decision) (r correct.Rejection, class correct.Class) {
	r = correct.Rejection{Text: f.text, Code: f.code, BeforeRun: misfit != nil && misfit.RejectedBeforeRun(f.text)}
	known := f.fault()
	switch {
	case errors.Is(f.err, fs.ErrPermission):
		return r, correct.Class{Kind: correct.Permission}
	case errors.Is(f.err, context.Canceled), errors.Is(f.err, context.DeadlineExceeded):
		return r, correct.Class{Kind: correct.Cancelled}
	case known != nil && known.Code == CodeArgumentsInvalid && known.Delivery == DeliveryUnsent && misfit != nil:
		r.Unsent = true // a server that forges this fault cannot make a valid call invalid
		return r, correct.Classify(r)
	case known != nil:
		return r, correct.Class{Kind: correct.Connection} // recovery has done what it can
	case isArgumentError(f.err):
		r.Code = jsonrpc.CodeInvalidParams
		return r, marked(correct.Classify(r))
	case unreachable(f.err):
		return r, correct.Class{Kind: correct.Connection}
	}
	if isJSON, aboutCall := decodingError(arguments, f.err); aboutCall {
		r.Code = jsonrpc.CodeInvalidParams
		class = correct.Classify(r)
		class.NoEffect = false // the tool may have run before it decoded them
		return r, class
	} else if isJSON {
		return r, correct.Class{Kind: correct.Internal}
	}
	return r, correct.Classify(r)
}

// marked returns the class of an error that ArgumentError marked. What is never corrected stays so.
func marked(c correct.Class) correct.Class {
	if never := !(correct.Policy{Correctable: []correct.Kind{c.Kind}}).Allows(c); never {
		return c
	}
	if !c.Correctable {
		c.Kind = correct.InvalidValue
	}
	c.Correctable, c.NoEffect = true, true
	return c
}

// fault returns the fault that gauze reported, if the failure is one.
func (f failedCall) fault() *Fault {
	if f.result != nil {
		return FaultOf(f.result)
	}
	return FaultOf(f.err)
}

// unreachable reports whether an error is a lost or refused connection, or a timeout.
func unreachable(err error) bool {
	var (
		operation *net.OpError
		name      *net.DNSError
		timeout   interface{ Timeout() bool }
	)
	if errors.As(err, &operation) || errors.As(err, &name) || errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	for _, lost := range []error{
		mcp.ErrConnectionClosed, net.ErrClosed, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe,
		syscall.EPIPE, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED,
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// decodingError reports whether an error is one of encoding/json, and whether it is about the
// arguments. A tool may also fail to decode something else, such as a response.
func decodingError(arguments []byte, err error) (isJSON, aboutCall bool) {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return true, !json.Valid(arguments)
	case errors.As(err, &wrong):
		var value any
		decoder := json.NewDecoder(bytes.NewReader(arguments))
		decoder.UseNumber()
		var path []string
		if wrong.Field != "" {
			path = strings.Split(wrong.Field, ".")
		}
		kind, _, _ := strings.Cut(wrong.Value, " ") // such as "number 2.5"
		return true, decoder.Decode(&value) == nil && contains(value, path, kind)
	}
	return false, false
}

// contains reports whether a value has a part of a JSON type, as encoding/json names it, at a path
// without the indices of lists.
func contains(value any, path []string, kind string) bool {
	if list, ok := value.([]any); ok {
		return len(path) == 0 && kind == "array" || slices.ContainsFunc(list, func(item any) bool { return contains(item, path, kind) })
	}
	object, ok := value.(map[string]any)
	if ok && len(path) > 0 {
		for name, member := range object {
			if strings.EqualFold(name, path[0]) && contains(member, path[1:], kind) {
				return true
			}
		}
		return false
	}
	return len(path) == 0 && kindOf(value) == kind
}

func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "bool"
	case map[string]any:
		return "object"
	}
	return ""
}
