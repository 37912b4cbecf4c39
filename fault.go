package gauze

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gauze-mcp/gauze/fault"
)

// FaultOf returns the fault that gauze reported in v, or nil if v is the server's own response. v is
// an [*mcp.CallToolResult] or an error of a client session:
//
//	result, err := session.CallTool(ctx, params)
//	if f := gauze.FaultOf(result); f != nil && f.Code == fault.OutcomeUnknown {
//		// Check whether the call took effect before repeating it.
//	}
//
// It works with every client of a server behind gauze: a [Transport], gauze run or gauze serve.
// There, a server cannot forge a fault. Without gauze in between, it can.
func FaultOf(v any) *fault.Fault {
	switch v := v.(type) {
	case error:
		var f *fault.Fault
		var rpc *jsonrpc.Error
		if errors.As(v, &f) {
			return f
		}
		if errors.As(v, &rpc) {
			return fault.Parse(rpc.Data)
		}
	case *mcp.CallToolResult:
		if v != nil {
			return faultInMeta(v.Meta)
		}
	}
	return nil
}

// faultInMeta returns the fault in the _meta of a result, or nil if there is none.
func faultInMeta(meta map[string]any) *fault.Fault {
	f := fault.Parse(encoded(meta[fault.MetaKey]))
	if report, ok := meta[fault.ReportKey]; ok && f != nil {
		f.Report = encoded(report)
	}
	return f
}

// encoded returns a value of a _meta as JSON again.
func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	return text
}

// faultError is an error together with the fault it reports. Both are found by errors.As, the fault
// before a raw one in the error, whose texts may quote the server.
type faultError struct {
	error
	fault *fault.Fault
}

func (e *faultError) Unwrap() []error { return []error{e.fault, e.error} }

// withFault makes the fault that an error reports available to errors.As, as programs read it.
func withFault(err error) error {
	f := FaultOf(err)
	if f == nil {
		return err
	}
	return &faultError{err, f.Shown()}
}
