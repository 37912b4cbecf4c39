package agenttools

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// theirs returns the schema that jsonschema-go derives from a type. Lists are never null.
func theirs(t *testing.T, of reflect.Type) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}})
	if err != nil {
		t.Fatal(err)
	}
	var plain func(*jsonschema.Schema)
	plain = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		if len(s.Types) == 2 && s.Types[0] == "null" && s.Types[1] != "string" {
			s.Type, s.Types = s.Types[1], nil
		}
		for _, property := range s.Properties {
			plain(property)
		}
		plain(s.Items)
		plain(s.AdditionalProperties)
	}
	plain(s)
	return s
}

func same(t *testing.T, name string, ours json.RawMessage, theirs *jsonschema.Schema) {
	t.Helper()
	want, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	var a, b any
	if json.Unmarshal(ours, &a) != nil || json.Unmarshal(want, &b) != nil || !reflect.DeepEqual(a, withoutTrue(b)) {
		t.Errorf("%s:\n%s\njsonschema-go derives\n%s", name, ours, want)
	}
}

// withoutTrue writes the schema true, which some clients do not know, as the empty object.
func withoutTrue(schema any) any {
	switch s := schema.(type) {
	case bool:
		if s {
			return map[string]any{}
		}
	case map[string]any:
		for key, value := range s {
			s[key] = withoutTrue(value)
		}
	}
	return schema
}

func TestSchemasOfToolsAreThoseOfTheirTypes(t *testing.T) {
	t.Parallel()
	svc := newService(t.Context(), Options{Fleet: new(fleet.Fleet), AllTools: true})
	if len(svc.tools) < 15 {
		t.Fatalf("only %d tools", len(svc.tools))
	}
	for i, tool := range svc.server.Tools {
		same(t, tool.Name+" in", tool.InputSchema, theirs(t, svc.tools[i].in))
		full := theirs(t, svc.tools[i].out)
		outline := &jsonschema.Schema{Type: "object", Required: full.Required, Properties: map[string]*jsonschema.Schema{}}
		for _, name := range full.Required {
			outline.Properties[name] = &jsonschema.Schema{Type: full.Properties[name].Type, Types: full.Properties[name].Types}
		}
		same(t, tool.Name+" out", tool.OutputSchema, outline)
	}
}

func TestSchemaOfAType(t *testing.T) {
	t.Parallel()
	type inner struct {
		Flag *bool   `json:"flag,omitempty" jsonschema:"a flag"`
		Name *string `json:"name"`
	}
	type outer struct {
		inner
		ID     string             `json:"id"`
		Count  int                `json:"count"`
		Ratio  float64            `json:"ratio,omitempty"`
		Any    any                `json:"any,omitempty"`
		Raw    json.RawMessage    `json:"raw"`
		Names  []string           `json:"names,omitempty" jsonschema:"some \"names\""`
		Parts  []inner            `json:"parts"`
		Values map[string]float64 `json:"values,omitempty"`
		Hidden string             `json:"-"`
		secret string
	}
	_ = outer{secret: ""}
	same(t, "outer", schemaOf(reflect.TypeFor[outer]()).encoded(), theirs(t, reflect.TypeFor[outer]()))
	same(t, "empty", schemaOf(reflect.TypeFor[struct{}]()).encoded(), theirs(t, reflect.TypeFor[struct{}]()))
	defer func() {
		if recover() == nil {
			t.Error("a channel has a schema")
		}
	}()
	schemaOf(reflect.TypeFor[chan int]())
}
