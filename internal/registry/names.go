package registry

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is the origin of a package, or Remote for an address.
type Kind string

const (
	NPM    Kind = "npm"
	PyPI   Kind = "pypi"
	OCI    Kind = "oci"
	Remote Kind = "url"
)

const part = `[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*` // of the path of an image

// Valid names. None can start with a dash or contain anything that a shell, a package manager or a
// terminal would interpret: npm's "alias@npm:other", git and file addresses, options.
var (
	serverName = lazy(`^[A-Za-z0-9][A-Za-z0-9.-]{0,99}/[A-Za-z0-9._-]{1,99}$`)
	npmName    = lazy(`^(@[a-z0-9][a-z0-9._-]{0,99}/)?[a-z0-9][a-z0-9._-]{0,99}$`)
	pypiName   = lazy(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$`)
	imageName  = lazy(`^([a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/)?` + part + `(/` + part + `)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[a-f0-9]{64})?$`)

	npmVersion  = lazy(`^[0-9]{1,10}\.[0-9]{1,10}\.[0-9]{1,10}([-+][0-9A-Za-z.+-]{1,64})?$`)
	pypiVersion = lazy(`^[0-9]{1,10}(\.[0-9]{1,10}){0,5}([.+-]?[0-9A-Za-z]{1,32}){0,4}$`)
	imageTag    = lazy(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)

	envName  = lazy(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	argName  = lazy(`^-{0,2}[A-Za-z][A-Za-z0-9_.-]{0,63}$`)
	argValue = lazy(`^[A-Za-z0-9{/.-][A-Za-z0-9._/@:=,+{}-]{0,99}$`)
	header   = lazy(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) // stricter than HTTP, which allows quotes
	hostName = lazy(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$`)
	pathText = lazy(`^[A-Za-z0-9/._~%@:+,=&-]*$`)
)

// pattern is a regular expression that is compiled at its first use: most processes never use it,
// and the repeat counts cost a megabyte.
type pattern struct{ compiled func() *regexp.Regexp }

func lazy(text string) pattern {
	return pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (p pattern) MatchString(text string) bool { return p.compiled().MatchString(text) }

// validName reports whether a name is valid for this kind.
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

// publicURL reports whether address is an https URL of a host with a public name.
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

// sameName reports whether two valid names denote the same package.
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

// repository returns an image name without its tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// Loads reports whether a variable controls which code runs, what it trusts or where it connects. A
// registry may not ask for such a variable.
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

// directs reports whether a variable is the address that a server connects to. A registry may ask
// for such a variable, but not provide its value.
func directs(name string) bool { return strings.HasSuffix(strings.ToUpper(name), "_BASE_URL") }
