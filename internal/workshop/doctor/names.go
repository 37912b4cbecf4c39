package doctor

import (
	"maps"
	"slices"
	"strings"

	"github.com/gauze-mcp/gauze/internal/text/regex"
)

// conditions are the conditions in Go that .cause files use by their names: those that need code, or
// that fill in what a clue would capture. All others are written in the files.
func conditions() map[string]condition {
	all := conditionsOfCase()
	maps.Copy(all, conditionsOfText())
	return all
}

// conditionsOfCase are those on what is known besides the text.
func conditionsOfCase() map[string]condition {
	return map[string]condition{
		"about-local": func(m *match) bool { return m.x.aboutLocal(m) },
		"answered":    func(m *match) bool { return len(m.x.HTTP) > 0 },
		"at-url":      func(m *match) bool { return m.x.URL != "" },
		"bridge":      onCommand(command.bridge),
		"by-registry": func(m *match) bool {
			return len(m.x.Required) > 0 && m.names["variables"] == strings.Join(m.x.Required, ", ")
		},
		"called-by-script":   func(m *match) bool { return m.x.cmd.ofScript(m.names["script"], m.names["command"]) },
		"configured":         func(m *match) bool { return len(m.x.Command) > 0 },
		"container":          onCommand(command.container),
		"downloads":          onCommand(command.downloads),
		"exec-without-input": onCommand(command.execWithoutInput),
		"exit-code-0":        func(m *match) bool { return m.x.Exit.Code == 0 },
		"exited":             func(m *match) bool { return m.x.Exit.Known },
		"failed-itself": func(m *match) bool {
			return slices.ContainsFunc(m.x.HTTP, func(h HTTP) bool { return h.Status >= 500 })
		},
		"from-windows":      func(m *match) bool { return m.x.windows() },
		"has-address":       func(m *match) bool { return m.x.cmd.address() != "" },
		"has-arguments":     func(m *match) bool { return len(m.x.Command) > 1 },
		"interactive":       onCommand(command.interactive),
		"keyed":             func(m *match) bool { return m.x.Keyed },
		"live":              func(m *match) bool { return m.x.Live },
		"live-url":          func(m *match) bool { return m.x.Live && m.x.URL != "" },
		"lost-connection":   func(m *match) bool { return m.x.shows(connectionLost) },
		"name-demanded":     func(m *match) bool { return m.x.nameDemanded(m) },
		"no-login":          func(m *match) bool { return m.x.NoLogin },
		"not-initialized":   func(m *match) bool { return m.x.Live && m.x.URL == "" && m.x.Stage < Initialized },
		"no-such-directory": noSuchDirectory,
		"of-interpreter":    func(m *match) bool { return m.x.Spawn.Of == "interpreter" },
		"older-sdk":         func(m *match) bool { return olderMCP(m.x.text, m.names) },
		"on-windows":        func(m *match) bool { return m.x.typing().Windows() },
		"pinned":            onCommand(command.pinned),
		"proxy-set": func(m *match) bool {
			return proxyVariable.MatchString(m.x.cmd.line) || slices.ContainsFunc(m.x.Env, proxyVariable.MatchString)
		},
		"redirected":            func(m *match) bool { return m.x.redirected(m) },
		"rejected-scope":        func(m *match) bool { return slices.ContainsFunc(m.x.HTTP, lacksScope) },
		"remote":                onCommand(command.remote),
		"returned-401":          func(m *match) bool { return m.x.returned401() },
		"several":               func(m *match) bool { return len(m.x.listed(m)) > 1 },
		"shell":                 onCommand(command.shell),
		"slash-moved":           func(m *match) bool { return m.x.slashMoved(m) },
		"silent-on-stdout":      func(m *match) bool { return m.x.Live && m.x.Exit.Known && m.x.Stdout == "" },
		"split-argument":        onCommand(command.splitArgument),
		"starts-http":           func(m *match) bool { return m.x.startsHTTP() },
		"variable-is-set":       func(m *match) bool { return slices.Contains(m.x.Set, m.names["variable"]) },
		"windows-host":          func(m *match) bool { return m.x.windowsHost() },
		"windows-shell-on-unix": windowsShellOnUnix,
	}
}

// conditionsOfText are those on the match, and those that fill it in.
func conditionsOfText() map[string]condition {
	return map[string]condition{
		"an-answer":              anAnswer,
		"answered-by-page":       answeredByPage,
		"asked-by-ipv4":          askedByIPv4,
		"asks-for-word":          asksForWord,
		"assigned-in-arguments":  assignedInArguments,
		"assigns":                assigns,
		"bearer-challenge":       bearerChallenge,
		"before-session":         beforeSession,
		"can-be-damaged":         canBeDamaged,
		"complaint":              complaint,
		"cut-at-space":           cutAtSpace,
		"helper-wanted":          helperWanted,
		"is-aside":               isAside,
		"json-as-program":        jsonAsProgram,
		"json-is-broken":         jsonIsBroken,
		"label-wanted":           labelWanted,
		"listens-on-port":        listensOnPort,
		"local-root":             localRoot,
		"many-processes":         manyProcesses,
		"named-but-not-given":    namedButNotGiven,
		"names-an-application":   namesAnApplication,
		"names-path-argument":    namesPathArgument,
		"names-variable":         namesVariable,
		"not-a-host-name":        notAHostName,
		"not-browser-session":    notBrowserSession,
		"not-json-noise":         notJSONNoise,
		"of-a-library":           ofALibrary,
		"old-node-in-path":       oldNodeInPath,
		"only-a-timeout":         onlyATimeout,
		"path-given-as-option":   pathGivenAsOption,
		"reference-as-argument":  referenceAsArgument,
		"reference-in-command":   referenceInCommand,
		"reference-rejected":     referenceRejected,
		"rejected-setting":       rejectedSetting,
		"relative-directory":     relativeDirectory,
		"required-clue":          requiredClue,
		"runner-among-arguments": runnerAmongArguments,
		"same-images":            sameImages,
		"scope-rejected":         scopeRejected,
		"script-lacks-program":   scriptLacksProgram,
		"settings-field":         settingsField,
		"silent-download":        silentDownload,
		"spawn-denied":           spawnDenied,
		"spawn-missing":          spawnMissing,
		"sse-for-http-client":    sseForHTTPClient,
		"still-downloading":      stillDownloading,
		"subcommand-of-uvx":      subcommandOfUvx,
		"text-on-stdout":         textOnStdout,
		"tilde-among-arguments":  tildeAmongArguments,
		"url-for-stdio-client":   urlForStdioClient,
		"value-without-name":     valueWithoutName,
		"wanted-program":         wantedProgram,
		"while-starting":         whileStarting,
		"whole-line-as-program":  wholeLineAsProgram,
		"windows-argument":       windowsArgument,
	}
}

func onCommand(holds func(command) bool) condition {
	return func(m *match) bool { return holds(m.x.cmd) }
}

// kinds are verbs that need code: {wanted} is-runner.
func kinds() map[string]func(string) bool {
	return map[string]func(string) bool{
		"below-supported": belowSupported,
		"environ-read":    environRead,
		"is-new-in-node":  isNewInNode,
		"is-code":         isCode,
		"is-path":         isPath,
		"is-program-word": isProgramWord,
		"is-runner":       isRunner,
		"loads":           loads,
		"newer-python":    newerPython,
	}
}

// wordsInGo are the words that Go code also needs.
func wordsInGo() map[string]*regex.Lazy {
	return map[string]*regex.Lazy{
		"announced":     announced,
		"assigned":      assigned,
		"broke-off":     brokeOff,
		"file-noun":     fileNoun,
		"flag-inside":   flagInside,
		"html":          html,
		"inner":         inner,
		"local":         local,
		"missing-word":  missingWord,
		"start-word":    startWord,
		"unreachable":   unreachable,
		"web-address":   webAddress,
		"windows-path":  windowsPath,
		"windows-signs": windowsSigns,
	}
}

// remedies are what a cause may propose, by name.
func remedies() map[string][]remedy {
	return map[string][]remedy{
		"argumentToVariable":  {argumentToVariable},
		"authority":           {authority},
		"certificate":         {certificate},
		"commandToURL":        {commandToURL},
		"composePort":         {composePort},
		"dependencies":        {dependencies},
		"execBit":             {execBit},
		"fillIn":              {fillIn},
		"findEndpoint":        {findEndpoint},
		"hostOfContainer":     {hostOfContainer},
		"inUTF8":              {inUTF8},
		"installModules":      {installModules},
		"installProgram":      {installProgram},
		"joinSpaces":          {joinSpaces},
		"keepRunning":         {keepRunning},
		"keepStdin":           {keepStdin},
		"keyRemedies":         keyRemedies,
		"locateProgram":       {locateProgram},
		"newerNode":           {newerNode},
		"newerPythonOf":       {newerPythonOf},
		"npxCache":            {npxCache},
		"otherPython":         {otherPython},
		"passSystemVariables": {passSystemVariables},
		"pathRemedies":        pathRemedies,
		"pinLibrary":          {pinLibrary},
		"portOwner":           {portOwner},
		"programRemedies":     programRemedies,
		"projectPython":       {projectPython},
		"proxies":             {proxies},
		"quiet":               {quiet},
		"realProgram":         {realProgram},
		"refusedRemedies":     refusedRemedies,
		"retryFromCache":      {retryFromCache},
		"similarPackage":      {similarPackage},
		"splitLine":           {splitLine},
		"startInProject":      {startInProject},
		"startService":        {startService},
		"throughCmd":          {throughCmd},
		"uvCache":             {uvCache},
		"valueRemedies":       valueRemedies,
	}
}
