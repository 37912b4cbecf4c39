package agenttools

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// schema is the part of JSON Schema that the types of tools need.
type schema struct {
	Type        any        `json:"type,omitempty"` // a name, or several
	Description string     `json:"description,omitempty"`
	Properties  properties `json:"properties,omitempty"`
	Required    []string   `json:"required,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	Additional  any        `json:"additionalProperties,omitempty"` // false, or the schema of the values of a map
}

// properties are the properties of an object, in the order of the fields.
type properties []property

type property struct {
	name string
	schema
}

func (p properties) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	for i, one := range p {
		text.WriteByte("{,"[min(i, 1)])
		name, _ := json.Marshal(one.name) // a string always encodes
		value, err := json.Marshal(one.schema)
		if err != nil {
			return nil, err
		}
		text.Write(name)
		text.WriteByte(':')
		text.Write(value)
	}
	if len(p) == 0 {
		text.WriteByte('{')
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

func (s schema) encoded() json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // cannot happen with our own types
	}
	return text
}

// schemaOf returns the schema of a type: the tag jsonschema describes a field, and a field with omitempty
// is optional. Lists are never null.
func schemaOf(t reflect.Type) (s schema) {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return s
	case t.Kind() == reflect.Pointer:
		s = schemaOf(t.Elem())
		if s.Type == "string" {
			s.Type = []string{"null", "string"}
		}
		return s
	}
	switch t.Kind() {
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Int, reflect.Int64:
		s.Type = "integer"
	case reflect.Float64:
		s.Type = "number"
	case reflect.String:
		s.Type = "string"
	case reflect.Interface:
	case reflect.Slice:
		items := schemaOf(t.Elem())
		s.Type, s.Items = "array", &items
	case reflect.Map:
		s.Type, s.Additional = "object", schemaOf(t.Elem())
	case reflect.Struct:
		s.Type, s.Additional = "object", false
		s.Properties, s.Required = fieldsOf(t)
	default:
		panic("agenttools: no schema for " + t.String())
	}
	return s
}

// fieldsOf returns the fields of a struct, with those of embedded ones, and the names of those that are
// always there.
func fieldsOf(t reflect.Type) (all properties, required []string) {
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || !field.IsExported() || name == "-" {
			continue
		}
		p := property{name, schemaOf(field.Type)}
		p.Description = field.Tag.Get("jsonschema")
		all = append(all, p)
		if !strings.HasPrefix(options, "omit") {
			required = append(required, name)
		}
	}
	return all, required
}

// outlineOf returns the names and types of the fields that every result of a type has. The others
// explain themselves, and every byte of tools/list is in the context of every session.
func outlineOf(t reflect.Type) schema {
	all, required := fieldsOf(t)
	s := schema{Type: "object", Required: required}
	for _, p := range all {
		if len(required) > 0 && p.name == required[0] {
			s.Properties = append(s.Properties, property{p.name, schema{Type: p.Type}})
			required = required[1:]
		}
	}
	return s
}
