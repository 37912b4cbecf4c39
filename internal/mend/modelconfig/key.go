package modelconfig

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// candidate is a key that was found.
type candidate struct {
	key    secret
	source string // the variable or file
	place  string // as in place.name
	own    bool   // the provider's own variable, which other programs use as well
}

// candidates returns the keys for the provider, the preferred one first.
func (c *Config) candidates(env place, f file) (found []candidate) {
	add := func(key, source, place string, own bool) {
		if key = strings.TrimSpace(key); key != "" {
			found = append(found, candidate{secret(key), source, place, own})
		}
	}
	if env.serves(c.Provider) {
		add(os.Getenv(keyVariable), keyVariable, env.name, false)
	}
	for _, name := range providers[c.Provider].keys {
		add(os.Getenv(name), name, env.name, true)
	}
	if f.place().serves(c.Provider) {
		add(f.Key, f.path, f.place().name, false)
	}
	return found
}

// setKey chooses the key for a URL, which is set in the place from. A key is sent only to the
// provider's own host, or to a URL from the same place. GAUZE_MODEL_KEY is meant for any URL that
// the user configured. A server on this machine does not get the provider's own key.
func (c *Config) setKey(found []candidate, at *url.URL, from string) error {
	official := c.official(at)
	var kept []string
	for _, k := range found {
		allowed := official || k.place == from && !(k.own && loopback(at)) || k.source == keyVariable
		if !allowed {
			kept = append(kept, k.source)
			continue
		}
		if err := c.checkTransport(k, at, from); err != nil {
			return err
		}
		c.key, c.sources.key = k.key, k.source
		return nil
	}
	switch {
	case official:
		return fmt.Errorf("no key for %s: set %s or %s", c, providers[c.Provider].keys[0], keyVariable)
	case len(kept) > 0:
		c.sources.key = fmt.Sprintf("%s is not sent to %s; if this server requires a key, set %s", kept[0], at.Host, keyVariable)
	case private(at):
		c.sources.key = "not required at this address"
	default:
		c.sources.key = fmt.Sprintf("if this server requires a key, set %s", keyVariable)
	}
	return nil
}

// official reports whether a URL is on the provider's own host.
func (c *Config) official(at *url.URL) bool {
	own, err := url.Parse(providers[c.Provider].url)
	return err == nil && at.Scheme == own.Scheme && at.Host == own.Host
}

// checkTransport rejects a key that would be sent unencrypted over the internet. If the user set
// both together, it only warns.
func (c *Config) checkTransport(k candidate, at *url.URL, from string) error {
	if at.Scheme == "https" || private(at) {
		return nil
	}
	if k.place != from {
		return fmt.Errorf("invalid %s: the key from %s would be sent to %s without encryption; use https://", c.sources.url, k.source, at.Host)
	}
	c.Warnings = append(c.Warnings, fmt.Sprintf("The key from %s is sent to %s without encryption. Use https:// if the server supports it.", k.source, at.Host))
	return nil
}

// loopback reports whether a URL is on this machine.
func loopback(at *url.URL) bool {
	name := strings.TrimSuffix(strings.ToLower(at.Hostname()), ".")
	ip := net.ParseIP(name)
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// private reports whether a URL is on this machine or in a private network. Names are not resolved.
func private(at *url.URL) bool {
	ip := net.ParseIP(at.Hostname())
	return loopback(at) || ip != nil && (ip.IsPrivate() || ip.IsLinkLocalUnicast())
}
