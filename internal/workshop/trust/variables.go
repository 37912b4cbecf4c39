package trust

import (
	"slices"
	"strings"
)

// Loads reports whether a variable is known to decide what code runs, what it trusts or where it
// connects. It only forbids: the source alone decides what may be used at all. Packages that are
// stricter for their purpose add to it.
func Loads(name string) bool {
	return Named(name,
		[]string{"LD_", "DYLD_", "PYTHON", "NPM_CONFIG_", "PIP_", "UV_", "SSL_", "BUN_", "DENO_", "BASH_", "PERL5", "RUBY", "JAVA_TOOL", "JDK_JAVA", "_JAVA", "DOTNET_STARTUP", "COMPOSE_"},
		[]string{"_PROXY", "_CA_BUNDLE", "_CA_CERTS"},
		[]string{"PATH", "ENV", "SHELL", "HOME", "IFS", "PROMPT_COMMAND", "PS1", "PS2", "PS4", "GCONV_PATH", "CLASSPATH", "PATHEXT", "COMSPEC"})
}

// Named reports whether a variable begins or ends like one of these, or is one of them. Windows
// ignores the case of names, so it does not count.
func Named(name string, begins, ends, whole []string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(begins, func(prefix string) bool { return strings.HasPrefix(upper, prefix) }) ||
		slices.ContainsFunc(ends, func(suffix string) bool { return strings.HasSuffix(upper, suffix) }) ||
		slices.Contains(whole, upper)
}
