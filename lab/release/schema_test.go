package main

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gauze-mcp/gauze/lab/programs"
	"github.com/gauze-mcp/gauze/lab/realparts"
)

// wantValid validates a value against a schema in testdata. Schemas there are written from documentation.
func wantValid(t *testing.T, name string, value any) {
	t.Helper()
	valid(t, filepath.Join("testdata", name+".schema.json"), value)
}

// valid validates a value against the schema in a file, which may refer to its neighbours.
func valid(t *testing.T, file string, value any) {
	t.Helper()
	load := func(name string) *jsonschema.Schema {
		var schema jsonschema.Schema
		if err := json.Unmarshal(read(t, name), &schema); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return &schema
	}
	resolved, err := load(file).Resolve(&jsonschema.ResolveOptions{Loader: func(uri *url.URL) (*jsonschema.Schema, error) {
		if strings.HasPrefix(path.Base(uri.Path), "jsf-") {
			none := &jsonschema.Schema{} // signatures inside the document are not used
			return &jsonschema.Schema{Definitions: map[string]*jsonschema.Schema{"signature": none}}, nil
		}
		return load(filepath.Join(filepath.Dir(file), path.Base(uri.Path))), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s: %v\n%v", file, err, value)
	}
}

// The list of modules is valid by the schema that CycloneDX publishes.
func TestSBOMIsValidByItsPublishedSchema(t *testing.T) {
	if !programs.Everything() {
		t.Skip("the schema is downloaded only for a run of everything")
	}
	r := built(t)
	r.run(t, sbom)
	schema := filepath.Join(realparts.Module(t, "github.com/CycloneDX/cyclonedx-go@v0.12.0"), "schema", "bom-1.5.schema.json")
	for _, p := range released {
		var value any
		if err := json.Unmarshal(read(t, filepath.Join(r.dir, r.artefact(p, linux)+".cdx.json")), &value); err != nil {
			t.Fatal(err)
		}
		valid(t, schema, value)
	}
}
