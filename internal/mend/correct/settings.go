package correct

import (
	"fmt"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/llm"
)

// Settings are the fields of a repair.Policy, which is converted to it. K is its type of kinds.
type Settings[K ~string] struct {
	Enabled           *bool
	MaxRetries        *int
	UseModel          *bool
	Model             llm.Model
	Timeout           time.Duration
	CorrectableErrors []K
	Open              *bool
}

// Policy returns the policy, or an error that says which field has an unusable value. It does not
// contain the model.
func (s Settings[K]) Policy() (policy Policy, err error) {
	set := func(field, key string, value any) {
		if wrong := policy.setAs(field, key, fmt.Sprint(value)); wrong != nil && err == nil {
			err = wrong
		}
	}
	if s.Enabled != nil {
		set("Enabled", "enabled", *s.Enabled)
	}
	if s.MaxRetries != nil {
		set("MaxRetries", "max_retries", *s.MaxRetries)
	}
	if s.UseModel != nil {
		set("UseModel", "use_model", *s.UseModel)
	}
	if s.Timeout != 0 {
		set("Timeout", "timeout", s.Timeout)
	}
	if s.CorrectableErrors != nil {
		var kinds []string
		for _, kind := range s.CorrectableErrors {
			kinds = append(kinds, string(kind))
		}
		set("CorrectableErrors", "correctable_errors", strings.Join(kinds, ","))
	}
	if s.Open != nil {
		set("Open", "open", *s.Open)
	}
	return policy, err
}

// ModelOr returns the model to ask, which is nil if there is none.
func (s Settings[K]) ModelOr(otherwise llm.Model) llm.Model {
	if s.Model != nil {
		return s.Model
	}
	return otherwise
}
