package login

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/workshop/trust"
	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// Doubt is what only a person can know about a login: metadata may be hostile.
type Doubt struct {
	Says string   // what gauze knows, in full sentences
	Flag []string // has the arguments of gauze login with which the person agrees

	thing trust.Thing
}

// doubts returns what the person has not agreed to yet, by an answer or a flag that they typed. If the
// browser opens without a question, or no person logs in, it returns an error instead. In the first case,
// a flag does not count.
func (f *flow) doubts(a *authority, known []Login) (open []Doubt, err error) {
	if err := f.restricted(a); err != nil {
		return nil, err
	}
	program := f.options.Grant != ""
	auto := f.options.Mode == launch.LoginAuto && !program
	for _, d := range f.found(a, known) {
		if (auto || !f.named(d)) && !f.store.memory.Seen(d.thing) {
			open = append(open, d)
		}
	}
	switch {
	case len(open) > 0 && auto:
		return nil, Unanswered(strings.TrimSuffix(open[0].Says, ".") + "; run gauze login to confirm this, because --login auto does not ask")
	case len(open) > 0 && program:
		return nil, Unanswered(open[0].Says + " If that is what you want, pass " + strings.Join(open[0].Flag, " "))
	}
	return open, nil
}

// found returns the doubts about an authorization server.
func (f *flow) found(a *authority, known []Login) (all []Doubt) {
	if d := f.apart(a); d.Says != "" {
		all = append(all, d)
	}
	if f.options.Grant != "" {
		return all
	}
	server := originOf(f.key.Resource)
	at := Doubt{Flag: []string{"--login-issuer", hostOf(a.meta.Issuer)}, thing: f.thing(trust.LoginAt, server, a.meta.Issuer)}
	if others, hosts := f.others(a, known); len(others) > 0 {
		at.Says = fmt.Sprintf("You already use %[2]s to log in to %[1]s. This login is at %[3]s, and it may give %[4]s access to the same account.", strings.Join(others, ", "), strings.Join(hosts, ", "), a.meta.Issuer, server)
		all = append(all, at)
	}
	if before := f.before(a, known); before != "" && f.options.Mode != launch.LoginAuto { // which follows, as the protocol requires
		at.Says = fmt.Sprintf("You previously logged in to %s at %s. It now uses another authorization server, %s.", server, before, a.meta.Issuer)
		all = append(all, at)
	}
	return all
}

// before returns the issuer that gave the login until now, if it is a different one.
func (f *flow) before(a *authority, known []Login) string {
	for _, l := range known {
		if l.Grant == "" && l.Resource == f.key.Resource && l.Account == f.key.Account && l.Issuer != a.meta.Issuer {
			return l.Issuer
		}
	}
	return ""
}

// restricted returns an error if an endpoint is at a different host than those that the flags allow.
func (f *flow) restricted(a *authority) error {
	for _, e := range f.elsewhere(a) {
		if host := hostOf(e.address); len(f.options.Endpoints) > 0 && !slices.Contains(f.options.Endpoints, host) {
			return fmt.Errorf("%s is not a host set with --login-endpoint", host)
		}
	}
	return nil
}

// elsewhere returns the endpoints that are neither at the origin of the issuer nor below its host.
func (f *flow) elsewhere(a *authority) (found []endpoint) {
	for _, e := range endpoints(&a.meta) {
		if e.address != "" && !(e.person && f.options.Grant != "") && !below(e.address, a.meta.Issuer) {
			found = append(found, e)
		}
	}
	return found
}

// apart doubts endpoints elsewhere. Metadata that names the page of one authorization server and the token
// endpoint of another gets the codes of the first.
func (f *flow) apart(a *authority) (d Doubt) {
	var found, hosts []string
	for _, e := range f.elsewhere(a) {
		found = append(found, e.name+" "+originOf(e.address))
		if host := hostOf(e.address); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
			d.Flag = append(d.Flag, "--login-endpoint", host)
		}
	}
	if len(found) == 0 {
		return Doubt{}
	}
	d.Says = fmt.Sprintf("Part of the login takes place at another host: %s. The authorization server is %s. If they do not belong together, one of them can get access to your account at the other.", strings.Join(hosts, ", "), a.meta.Issuer)
	d.thing = f.thing(trust.EndpointsOf, a.meta.Issuer, strings.Join(found, "\n"))
	return d
}

// thing returns what the person agrees to. It counts for their account: the others of gauze serve are
// other people.
func (f *flow) thing(kind trust.Kind, where, bytes string) trust.Thing {
	if f.key.Account != "" {
		where += " as " + f.key.Account
	}
	return trust.Thing{Kind: kind, Where: where, Bytes: bytes}
}

// below reports whether an address has the origin of the issuer, or that of a host below it.
func below(address, issuer string) bool {
	u, err := url.Parse(address)
	of, bad := url.Parse(issuer)
	if err != nil || bad != nil {
		return false
	}
	if launch.SameOrigin(u, of) {
		return true
	}
	host, domain := strings.ToLower(u.Hostname()), strings.ToLower(of.Hostname())
	return u.Scheme == of.Scheme && u.Port() == of.Port() && strings.Contains(domain, ".") && strings.HasSuffix(host, "."+domain)
}

// remember remembers that the person agreed to what was doubtful.
func (f *flow) remember(agreed []Doubt) {
	for _, d := range agreed {
		f.store.memory.Agreed(d.thing, d.Says)
	}
}

// named reports whether the flags have what a person who agrees passes: those that they typed, or those of
// a program, which cannot be asked.
func (f *flow) named(d Doubt) bool {
	flags := f.typed
	if f.options.Grant != "" {
		flags = f.options
	}
	if d.thing.Kind == trust.LoginAt {
		return isNamed(d.thing.Bytes, flags.Issuer)
	}
	for flag := range slices.Chunk(d.Flag, 2) {
		if !slices.Contains(flags.Endpoints, flag[1]) {
			return false
		}
	}
	return true
}

// isNamed reports whether --login-issuer names an issuer, as a whole or by its host.
func isNamed(issuer, flag string) bool {
	return sameIssuer(issuer, flag) || hostOf(issuer) == flag
}

// others returns the origins of the other servers that people log in to at hosts of the authorization
// server, whose pages may not ask again, and these hosts. There are none if the person has logged in to
// this server there before.
func (f *flow) others(a *authority, known []Login) (origins, hosts []string) {
	here := originOf(f.key.Resource)
	for _, l := range known {
		there, host := originOf(l.Resource), a.shares(l)
		switch {
		case l.Grant != "" || host == "":
		case there != here:
			origins, hosts = append(origins, there), append(hosts, host)
		case l.Issuer == a.meta.Issuer && l.Account == f.key.Account:
			return nil, nil
		}
	}
	slices.Sort(origins)
	slices.Sort(hosts)
	return slices.Compact(origins), slices.Compact(hosts)
}

// shares returns the host of the authorization server at which a login was made; empty if there is none.
func (a *authority) shares(l Login) string {
	here := []string{hostOf(a.meta.Issuer), hostOf(a.meta.AuthorizationEndpoint), hostOf(a.meta.TokenEndpoint)}
	for _, address := range []string{l.Issuer, l.AuthorizeURL, l.TokenURL} {
		if host := hostOf(address); address != "" && slices.Contains(here, host) {
			return host
		}
	}
	return ""
}

// originOf returns the origin of an address.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return launch.Origin(u)
}

// hostOf returns the host of an address, with its port unless that is the default.
func hostOf(address string) string {
	_, host, _ := strings.Cut(originOf(address), "://")
	return host
}
