//go:build unix

package agenttools

import (
	"context"
	"encoding/json"
	"testing"
)

// Every byte of tools/list is paid for in the context of every session.
func TestTheListOfToolsIsSmall(t *testing.T) {
	t.Parallel()
	a := newAgent(t, settings{version: modern})
	all, err := a.session.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("tools/list has %d bytes", len(data))
	if len(data) >= maxListBytes {
		t.Errorf("tools/list has %d bytes, the limit is %d", len(data), maxListBytes)
	}
	for _, tool := range all.Tools {
		in, _ := json.Marshal(tool.InputSchema)
		out, _ := json.Marshal(tool.OutputSchema)
		t.Logf("%s: description %d, input %d, output %d", tool.Name, len(tool.Description), len(in), len(out))
	}
}
