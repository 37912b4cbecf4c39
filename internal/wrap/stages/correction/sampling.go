package correction

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Sampler sends the params of a sampling/createMessage request to the client and returns the result.
type Sampler func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// callKey is the key of the call that a model is asked about, in the context of the question.
type callKey struct{}

// sampler returns how the client's own model is asked; nil if the client does not offer it. Protocol
// 2026-07-28 has no requests to the client.
func (s *Stage) sampler() Sampler {
	if offered, err := wire.Field(s.Kernel.Capabilities(), "sampling"); err != nil || len(offered) == 0 || offered[0] != '{' {
		return nil
	}
	return s.askClient
}

// askClient sends a request of ours to the client. The client can tell which of its calls it is
// about, and it is withdrawn if the call ends.
func (s *Stage) askClient(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	c := ctx.Value(callKey{}).(*kernel.Call)
	q, err := s.Kernel.Ask(c.ID(), c, "sampling/createMessage", params)
	if err != nil {
		return nil, err
	}
	select {
	case m := <-q.Answer():
		if m.Result == nil {
			return nil, fmt.Errorf("the client rejected sampling/createMessage: %s", m.Error)
		}
		return m.Result, nil
	case <-ctx.Done():
		q.Withdraw("it took too long")
		return nil, ctx.Err()
	}
}
