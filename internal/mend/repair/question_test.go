package repair

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestDescriptionOfAHugeSchemaIsBoundedAndNamesWhatIsWrong(t *testing.T) {
	var properties []string
	for i := range 300 {
		properties = append(properties, fmt.Sprintf(`"field_%d":{"type":"integer","description":"%s","default":%d}`, i, strings.Repeat("words ", 40), i))
	}
	s := Compile([]byte(`{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":["field_7"]}`))
	described := s.Describe([]byte(`{"field_250":"many"}`))
	if len(described) > maxDescribed || !json.Valid(described) {
		t.Fatalf("described in %d bytes, valid: %v", len(described), json.Valid(described))
	}
	for _, name := range []string{"field_250", "field_7"} {
		if !strings.Contains(string(described), `"`+name+`"`) {
			t.Errorf("%s is missing in %.300s", name, described)
		}
	}
}

func TestDescriptionOfAShortSchemaIsTheSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"}}}`
	if got := Compile([]byte(schema)).Describe(nil); string(got) != schema {
		t.Errorf("described as %s", got)
	}
}
