package login

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/launch"
	"github.com/gauze-mcp/gauze/internal/trust"
)

// Doubt is what only a person can know about a login: metadata may be hostile.
type Doubt struct {
	Says string   // Says is what gauze knows, in full sentences.
	Flag []string // Flag has the arguments of gauze login with which the person agrees.

	thing trust.Thing
}

// doubts returns what the person has not agreed to yet, by an answer or a flag. If the browser opens
// without a question it returns an error instead, and a flag does not count.
func (f *flow) doubts(a *authority, known []Login) (open []Doubt, err error) {
	for _, d := range f.found(a, known) {
		byFlag := f.named(d) && f.options.Mode != launch.LoginAuto
		if !byFlag && !f.store.memory.Seen(d.thing) {
			open = append(open, d)
		}
	}
	if len(open) > 0 && f.options.Mode == launch.LoginAuto {
		return nil, errors.New(strings.TrimSuffix(open[0].Says, ".") + "; --login auto does not ask about that, and gauze login does")
	}
	return open, nil
}

// found returns the doubts about an authorization server.
func (f *flow) found(a *authority, known []Login) (all []Doubt) {
	if others := f.others(a, known); len(others) > 0 {
		server := originOf(f.key.Resource)
		all = append(all, Doubt{
			Says:  fmt.Sprintf("You already use %s to log in to %s. With this login, %s may get access to the same account.", a.meta.Issuer, strings.Join(others, ", "), server),
			Flag:  []string{"--login-issuer", hostOf(a.meta.Issuer)},
			thing: trust.Thing{Kind: trust.LoginAt, Where: server, Bytes: a.meta.Issuer},
		})
	}
	return all
}

// agreed remembers that the person agreed to what was doubtful.
func (f *flow) agreed(a *authority) {
	for _, d := range a.doubts {
		f.store.memory.Agreed(d.thing, d.Says)
	}
	a.doubts = nil
}

// named reports whether the user's flags have what a person who agrees passes.
func (f *flow) named(d Doubt) bool {
	return f.options.Issuer == d.Flag[1]
}

// others returns the origins of the other servers that people log in to at the same hosts, whose pages
// may not ask again. There are none if the person has logged in to this server there before.
func (f *flow) others(a *authority, known []Login) (origins []string) {
	here := originOf(f.key.Resource)
	for _, l := range known {
		there := originOf(l.Resource)
		switch {
		case l.Grant != "" || !a.shares(l):
		case there != here:
			origins = append(origins, there)
		case l.Issuer == a.meta.Issuer:
			return nil
		}
	}
	slices.Sort(origins)
	return slices.Compact(origins)
}

// shares reports whether a login was made at a host of the authorization server.
func (a *authority) shares(l Login) bool {
	here := []string{hostOf(a.meta.Issuer), hostOf(a.meta.AuthorizationEndpoint), hostOf(a.meta.TokenEndpoint)}
	return slices.ContainsFunc([]string{l.Issuer, l.AuthorizeURL, l.TokenURL}, func(address string) bool {
		return address != "" && slices.Contains(here, hostOf(address))
	})
}

// originOf returns the origin of an address.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return origin(u)
}

// hostOf returns the host of an address, with its port unless that is the default.
func hostOf(address string) string {
	_, host, _ := strings.Cut(originOf(address), "://")
	return host
}
