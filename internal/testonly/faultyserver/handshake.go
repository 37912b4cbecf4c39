package faultyserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

func (s *server) initialize(_ context.Context, m *message, _ bool) (string, *refusal) {
	if a := s.cfg.faults["exit-on-initialize"]; a.fires(s.memory) {
		s.exit(a)
	}
	if s.cfg.faults["ignore-initialize"].fires(s.memory) {
		return "", nil
	}
	if a := s.cfg.faults["late-initialize"]; a.fires(s.memory) {
		time.Sleep(a.duration("after"))
	}
	if a := s.cfg.faults["fail-initialize"]; a.fires(s.memory) {
		return "", &refusal{code: a.number("code"), text: "initialize failed, as requested by a flag"}
	}
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(m.Params, &p)
	version := s.negotiateVersion(p.Version)
	s.session.change(func(x *session) { x.Initialize, x.Version = true, version })
	result := fmt.Sprintf(`{"protocolVersion":%s,"capabilities":%s,"serverInfo":%s,"instructions":"This server has named faults."}`,
		quote(version), s.capabilities(false), serverInfo)
	if a := s.cfg.faults["exit-after-initialize"]; a.fires(s.memory) {
		s.reply(m.ID, result)
		s.exit(a)
	}
	return result, nil
}

// negotiateVersion chooses the version: the requested one if it is supported, otherwise the newest
// legacy one.
func (s *server) negotiateVersion(asked string) string {
	if a := s.active["other-version"]; a != nil {
		return a.text("to")
	}
	if slices.Contains(s.cfg.versions, asked) && asked < modernVersion {
		return asked
	}
	for _, v := range s.cfg.versions {
		if v < modernVersion {
			return v
		}
	}
	return "2025-11-25"
}

func (s *server) capabilities(modern bool) string {
	all := [][2]string{
		{"tools", `{"listChanged":true}`},
		{"resources", `{"subscribe":true,"listChanged":true}`},
		{"prompts", `{"listChanged":true}`},
		{"completions", `{}`},
	}
	if !modern {
		all = append(all, [2]string{"logging", `{}`})
	}
	var parts []string
	for _, c := range all {
		if s.has(c[0]) {
			parts = append(parts, quote(c[0])+":"+c[1])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// has reports whether this generation still has the capability.
func (s *server) has(capability string) bool {
	a := s.active["drop-capability"]
	return a == nil || !slices.Contains(a.words("to"), capability)
}

// applyDiscoverFaults applies the faults of server/discover that apply to a server of any era. It
// reports whether to respond.
func (s *server) applyDiscoverFaults() (answer bool) {
	if a := s.cfg.faults["exit-on-discover"]; a.fires(s.memory) {
		s.exit(a)
	}
	if a := s.cfg.faults["ignore-discover"]; s.called.Load() >= int32(a.number("calls")) && a.fires(s.memory) {
		return false
	}
	if a := s.cfg.faults["late-discover"]; a.fires(s.memory) {
		time.Sleep(a.duration("after"))
	}
	return true
}

func (s *server) discover(_ context.Context, m *message, modern bool) (string, *refusal) {
	list, _ := json.Marshal(s.cfg.versions)
	return complete(fmt.Sprintf(`{"supportedVersions":%s,"capabilities":%s,"instructions":"This server has named faults.","ttlMs":0,"cacheScope":"private"}`,
		list, s.capabilities(true)), modern), nil
}
