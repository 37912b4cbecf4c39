package upfile

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/plaintext"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// things returns what the user must have seen before the server is started: the entry of a project, what a file says that
// is part of a project, and the program or URL that variables make of an entry.
func (o *origin) things() (all []trust.Thing) {
	inProject := o.entry != nil && o.entry.Config.InProject()
	switch {
	case o.where != "" && (o.entry == nil || o.policies != nil || inProject):
		all = append(all, trust.Thing{Kind: trust.ServerEntry, Where: o.where, Bytes: o.seen().Fingerprint()})
	case inProject: // not also in the case above: a user who has seen it with limits has not seen it without
		all = append(all, o.entry.Thing())
	}
	if o.resolved != "" {
		all = append(all, trust.Thing{Kind: trust.ServerEntry, Where: all[0].Where, Bytes: all[0].Bytes + " resolves to " + o.resolved})
	}
	return all
}

// seen returns the server as the user sees it: as it is written, and which of its tools a project's file allows.
func (o *origin) seen() launch.Spec {
	spec := o.written()
	if o.where != "" {
		spec.Others = slices.Concat(spec.Others, o.limits)
	}
	return spec
}

// target returns what decides which program is started, or which address is reached.
func target(s launch.Spec) string {
	if s.URL != "" {
		return s.URL
	}
	return strings.TrimSpace(s.Command + " in " + s.Dir)
}

// confirmed reports whether the user has seen the server as it is now, or need not.
func (o *origin) confirmed() bool {
	for _, thing := range o.things() {
		if !o.fleet.Seen.Seen(thing) {
			return false
		}
	}
	return true
}

// pending returns why a server is not started, and what to do. Empty: it may be started.
func (r *reader) pending(s *Server) string {
	o := &s.origin
	switch {
	case o.missing():
		return s.Source + ": " + o.unusable + ". To see what is wrong: " + s.command("--check")
	case o.unusable != "":
		return s.Source + ": " + o.unusable + ". Change its entry, or remove it from " + r.file.Path
	case o.confirmed():
		return ""
	}
	why := "the project configures this server, and you have not confirmed its current entry"
	if o.entry != nil && o.entry.Foreign() {
		why = o.entry.NotAgreed().Error()
	}
	return plaintext.UpperFirst(why) + ". To review and confirm it: " + s.ConfirmCommand()
}

// ConfirmCommand returns the command line with which the user reviews and confirms the server.
func (s *Server) ConfirmCommand() string { return s.command("--confirm", s.Key) }

// command returns a command line of gauze up for the file.
func (s *Server) command(flags ...string) string {
	words := append([]string{"gauze", "up"}, flags...)
	if s.origin.file != DefaultPath() {
		words = append(words, s.origin.file)
	}
	return shell.Here().Line(words...)
}

// Whole returns everything that determines what is run, or what is sent where, for the user's
// confirmation. One that is too long to review is an error.
func (s *Server) Whole() (string, error) {
	o := &s.origin
	if o.entry != nil && o.policies == nil && (o.where == "" || len(o.limits) == 0) && (o.resolved == "" || s.Spec.URL != "") {
		return o.entry.Whole()
	}
	text, err := fleet.Whole(o.seen(), o.uses()...)
	if o.resolved != "" && err == nil {
		text += fleet.Fold("\n  currently resolves to " + plaintext.Visible(redact.MaskAddress(o.resolved)))
	}
	if stored := o.fleet.StoredLogin(s.Spec); stored != "" && err == nil {
		text += fleet.Fold("\n  may use " + stored)
	}
	return text, err
}

// Written returns how the server is started or reached as its file says, with references not expanded.
func (s *Server) Written() launch.Spec { return s.origin.written() }

// Shown returns the command line or URL as its file says, with every secret masked.
func (s *Server) Shown() string { return s.origin.written().Shown() }

// Unusable returns why a client's entry cannot be used, or "".
func (s *Server) Unusable() string { return s.origin.unusable }

// Consent identifies the server as Whole shows it, on a command line.
func (s *Server) Consent() string {
	var all strings.Builder
	for _, thing := range s.origin.things() {
		all.WriteString(thing.Hash())
	}
	sum := sha256.Sum256([]byte(all.String()))
	return hex.EncodeToString(sum[:])[:32]
}

// Confirm remembers that the user has seen the Whole of the server and agreed that it is used. The next
// Read knows it.
func (s *Server) Confirm() {
	for _, thing := range s.origin.things() {
		s.origin.fleet.Seen.Agreed(thing, s.Source+" in "+thing.Where)
	}
}
