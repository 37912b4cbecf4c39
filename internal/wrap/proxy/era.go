package proxy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gauze-mcp/gauze/internal/wrap/kernel"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
	"github.com/gauze-mcp/gauze/internal/wrap/wire"
)

// Eras says which versions of the protocol a server has, as far as it has shown it: those with sessions, and 2026-07-28.
// nil: that is not known.
type Eras struct {
	Sessions *bool `json:"sessions,omitempty"`
	Modern   *bool `json:"modern,omitempty"`
}

// RecallEras returns what a server has shown to any client.
func RecallEras(kept Shelf, spec launch.Spec) (e Eras) {
	if kept == nil || json.Unmarshal(kept.Get(eraKey(spec)), &e) != nil {
		return Eras{}
	}
	return e
}

// eraKey identifies a server, whichever client asks it.
func eraKey(spec launch.Spec) string {
	return fmt.Sprintf("eras %q", append([]string{spec.URL, spec.Command}, spec.Args...))
}

// noteEras keeps what a portrait says about the versions that the server has.
func (s *shelf) noteEras(p kernel.Portrait) {
	e, yes, no := RecallEras(s.kept, s.given()), true, false
	var versions []string
	field, _ := wire.Field([]byte(p.Result), "supportedVersions")
	_ = json.Unmarshal(field, &versions) // the result of initialize has none
	switch {
	case p.Legacy:
		e.Modern = &no
	case p.Modern:
		e.Sessions = &no
	case versions == nil:
		e.Sessions = &yes
	default:
		modern := slices.Contains(versions, wire.FirstModern)
		e.Modern = &modern
	}
	content, _ := json.Marshal(e) // cannot fail: booleans
	s.kept.Put(eraKey(s.given()), content)
}
