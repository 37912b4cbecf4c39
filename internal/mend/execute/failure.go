package execute

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/gauze-mcp/gauze/fault"
	"github.com/gauze-mcp/gauze/internal/mend/correct"
	"github.com/gauze-mcp/gauze/internal/mend/repair"
)

// Rejection returns how a call with these arguments failed, as far as it may be corrected. misfit is
// how they do not match the tool's schema; nil if they do, as far as is known.
func (f Failure) Rejection(arguments []byte, misfit *repair.Decision) (r correct.Rejection, class correct.Class) {
	r = correct.Rejection{Text: f.Text, Code: f.Code, BeforeRun: misfit != nil && misfit.RejectedBeforeRun(f.Text)}
	known := f.Fault
	switch {
	case errors.Is(f.Err, fs.ErrPermission):
		return r, correct.Class{Kind: correct.Permission}
	case errors.Is(f.Err, context.Canceled), errors.Is(f.Err, context.DeadlineExceeded):
		return r, correct.Class{Kind: correct.Cancelled}
	case known != nil && known.Code == fault.ArgumentsInvalid && known.Delivery == fault.Unsent && misfit != nil:
		r.Unsent = true // a server that forges this fault cannot make a valid call invalid
		return r, correct.Classify(r)
	case known != nil:
		return r, correct.Class{Kind: correct.Connection} // recovery has done what it can
	case IsArgumentError(f.Err):
		r.Code = invalidParams
		return r, marked(correct.Classify(r))
	case f.unreachable():
		return r, correct.Class{Kind: correct.Connection}
	}
	if isJSON, aboutCall := decodingError(arguments, f.Err); aboutCall {
		r.Code = invalidParams
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

// unreachable reports whether the failure is a lost or refused connection, or a timeout.
func (f Failure) unreachable() bool {
	if f.Lost {
		return true
	}
	err := f.Err
	var (
		operation *net.OpError
		name      *net.DNSError
		timeout   interface{ Timeout() bool }
	)
	if errors.As(err, &operation) || errors.As(err, &name) || errors.As(err, &timeout) && timeout.Timeout() {
		return true
	}
	for _, lost := range []error{
		net.ErrClosed, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe,
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
