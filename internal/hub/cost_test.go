package hub

import (
	"testing"

	"github.com/gauze-mcp/gauze/internal/hub/names"
	"github.com/gauze-mcp/gauze/internal/wrap/probe"
)

func TestCosts(t *testing.T) {
	f := file(t, faulty(t, "one", "tools: {deny: [drop]}"), faulty(t, "two"), "profiles:\n  look: {servers: [two], tools: {allow: [get]}, list: search}\n")
	tools := []probe.Tool{{Name: "get", Bytes: 100, Tokens: 30}, {Name: "drop", Bytes: 50, Tokens: 20}}
	all := Costs(f, map[string][]probe.Tool{"one": tools, "two": tools})
	longer := 2*len(names.Advertised("one", "")) + len(names.Advertised("two", ""))
	if len(all) != 2 || all[0].Profile != "" || all[0].Direct.Tools != 3 || all[0].Direct.Bytes != 250+longer || all[0].Direct.Tokens <= 80 {
		t.Errorf("everything: %+v", all)
	}
	if look := all[1]; look.Profile != "look" || look.Direct.Tools != 1 || look.List != "search" || look.Search.Tools != 3 || look.Search.Tokens < 100 || look.Search.Tokens > 1000 {
		t.Errorf("the profile: %+v", look)
	}
}
