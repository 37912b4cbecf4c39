package registry

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is where a package comes from, or that there is none.
type Kind string

const (
	NPM    Kind = "npm"
	PyPI   Kind = "pypi"
	OCI    Kind = "oci"
	Remote Kind = "url"
)

const part = `[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*` // of an image's path

// What names look like. None can begin with a dash, and none has anything in it that a shell, a package client or a
// terminal takes for more than a name: npm's "alias@npm:other", git and file addresses, options.
var (
	serverName = form(`^[A-Za-z0-9][A-Za-z0-9.-]{0,99}/[A-Za-z0-9._-]{1,99}$`)
	npmName    = form(`^(@[a-z0-9][a-z0-9._-]{0,99}/)?[a-z0-9][a-z0-9._-]{0,99}$`)
	pypiName   = form(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$`)
	imageName  = form(`^([a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/)?` + part + `(/` + part + `)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?$`)

	npmVersion  = form(`^[0-9]{1,10}\.[0-9]{1,10}\.[0-9]{1,10}([-+][0-9A-Za-z.+-]{1,64})?$`)
	pypiVersion = form(`^[0-9]{1,10}(\.[0-9]{1,10}){0,5}([.+-]?[0-9A-Za-z]{1,32}){0,4}$`)
	imageTag    = form(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

	envName  = form(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	argName  = form(`^-{0,2}[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	argValue = form(`^[A-Za-z0-9{/.-][A-Za-z0-9._/@:=,+{}-]{0,99}$`)
	header   = form(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) // HTTP would take quotes, too
	hostName = form(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$`)
	pathText = form(`^[A-Za-z0-9/._~%@:+,=&-]*$`)
)

// name is a form that is compiled when the first one is looked at: most of us never do, and the counts in these cost a
// megabyte.
type name struct{ compiled func() *regexp.Regexp }

func form(text string) name {
	return name{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (n name) MatchString(text string) bool { return n.compiled().MatchString(text) }

// validName tells whether a name can be one of this kind.
func validName(kind Kind, name string) bool {
	switch kind {
	case NPM:
		return npmName.MatchString(name)
	case PyPI:
		return pypiName.MatchString(name)
	case OCI:
		return len(name) <= 300 && imageName.MatchString(name)
	case Remote:
		return publicURL(name)
	}
	return false
}

// publicURL is an encrypted address at a host with a name that others can have, too.
func publicURL(address string) bool {
	u, err := url.Parse(address)
	if err != nil || len(address) > 500 || u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, ending := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa", ".onion"} {
		if strings.HasSuffix(host, ending) {
			return false
		}
	}
	return len(host) <= 253 && hostName.MatchString(host) && pathText.MatchString(u.EscapedPath()) && pathText.MatchString(u.RawQuery)
}

// sameName tells whether two valid names mean the same thing.
func sameName(kind Kind, a, b string) bool { return canonical(kind, a) == canonical(kind, b) }

func canonical(kind Kind, name string) string {
	switch kind {
	case PyPI:
		return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_.", r) }), "-")
	case OCI:
		name = strings.TrimPrefix(repository(name), "docker.io/")
		return strings.TrimPrefix(name, "library/")
	case Remote:
		u, err := url.Parse(name)
		if err != nil {
			return name
		}
		return strings.ToLower(u.Host) + strings.TrimRight(u.EscapedPath(), "/")
	}
	return name
}

// repository is an image without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// Loads tells whether a variable decides what code runs, whom it trusts or where its connections go. A registry that asks
// for one is not listened to.
func Loads(name string) bool {
	upper := strings.ToUpper(name)
	begins := func(with string) bool { return strings.HasPrefix(upper, with) }
	ends := func(with string) bool { return strings.HasSuffix(upper, with) }
	return slices.ContainsFunc([]string{"LD_", "DYLD_", "PYTHON", "NPM_CONFIG_", "PIP_", "UV_", "SSL_", "BUN_", "DENO_", "BASH_", "PERL5",
		"RUBY", "JAVA_TOOL", "JDK_JAVA", "_JAVA", "DOTNET_STARTUP", "COMPOSE_", "GIT_CONFIG", "GIT_SSH", "GIT_EXEC", "GIT_PROXY", "DOCKER_HOST", "DOCKER_CONFIG", "GAUZE_"}, begins) ||
		slices.ContainsFunc([]string{"_PROXY", "_INDEX_URL", "_CA_BUNDLE", "_CA_CERTS"}, ends) ||
		slices.Contains([]string{"PATH", "ENV", "SHELL", "HOME", "USERPROFILE", "IFS", "PROMPT_COMMAND", "PS1", "PS2", "PS4", "GCONV_PATH", "CLASSPATH",
			"PATHEXT", "COMSPEC", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_REPL_EXTERNAL_MODULE",
			"GIT_ASKPASS", "GIT_TEMPLATE_DIR", "GIT_DIR", "GIT_PAGER", "GIT_EDITOR", "EDITOR", "PAGER"}, upper)
}

// directs tells whether a variable says where a server connects to: a registry may ask for it, but not fill it in.
func directs(name string) bool { return strings.HasSuffix(strings.ToUpper(name), "_BASE_URL") }
