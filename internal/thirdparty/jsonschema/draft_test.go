package jsonschema

import (
	"strings"
	"sync"
	"testing"
)

// Schemas are compiled at the same time, each with a compiler of its own, also those whose $schema is
// one of the vocabularies that the first of them compiles.
func TestFirstSchemasAreCompiledAtTheSameTime(t *testing.T) {
	var all sync.WaitGroup
	for i := range 16 {
		meta := []string{"schema", "meta/core"}[i%2]
		all.Go(func() {
			doc, err := UnmarshalJSON(strings.NewReader(`{"$schema":"https://json-schema.org/draft/2020-12/` + meta + `"}`))
			if err != nil {
				t.Error(err)
				return
			}
			c := NewCompiler()
			if err := c.AddResource("test:///schema", doc); err != nil {
				t.Error(err)
				return
			}
			if _, err := c.Compile("test:///schema"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
