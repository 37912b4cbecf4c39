package windowstest

// An exemption is a reason and everything that does not run on Windows because of it.
type exemption struct {
	reason string
	names  []string
}

// tests lists functions that call Skip, as "internal/wrap/kernel.TestName" or, for one subtest,
// "internal/wrap/kernel.TestName/subtest". Helpers that skip for their callers are listed by their own
// name.
var tests = []exemption{
	{"Windows has no POSIX signals", []string{
		"cmd/gauze.TestLoginIsCancelled",
		"cmd/gauze.TestRunOverAURLEndsAtOnce/SIGTERM",
		"internal/testonly/faultyserver.TestServerThatIgnoresSIGTERMAnswersAfterIt",
		"internal/wrap/probe.TestKeepsHowAServerFailed/-exit-on-initialize=KILL",
	}},
	{"Windows files have no permission bits", []string{
		"internal/workshop/backup.TestAModeIsKept",
		"internal/workshop/backup.TestAnOpenStoreIsClosed",
		"internal/disk/journal.TestOnlyTheUserMayReadTheJournal",
		"internal/hub/attach.TestOnlyTheUserMayReadTheFiles",
		"internal/hub/upfile.TestGatherRefuses",
		"internal/views/live.TestOnlyTheUserMayReadTheDirectory",
		"internal/access/login.TestOnlyTheUserMayReadLogins",
		"internal/wrap/kernel.TestFaultP02CommandNotExecutable",
		"task.TestALogBelongsToItsUser",
	}},
	{"Windows may not let a user make symbolic links", []string{
		"internal/workshop/clientconfig.symlink",
		"internal/workshop/upgrade.TestALinkStaysALink",
	}},
	{"the server it starts is a shell script", []string{
		"internal/agent/agenttools.TestAStrangersCommandWaitsForAYes",
		"internal/agent/agenttools.TestConfiguredOnlyAsItWorks",
	}},
	{"the program it starts is a shell script", []string{
		"internal/workshop/installed.TestACopyReplacesOnlyWhatIsOlder",
	}},
	{"on Windows a write completes the pending read of a suspended process", []string{
		"internal/wrap/kernel.TestFaultM08RootsChangedAndNeverRead/it is suspended",
	}},
	{"the allocations of pipes were not looked into on Windows", []string{
		"internal/wrap/kernel.TestAForwardedCallAllocatesNothing",
	}},
	{"there is no /proc", []string{
		"internal/workshop/doctor.TestReadOnlyDisksAreNotFull",
	}},
	{"what the packages for Windows prepare was not counted", []string{
		"gauze.TestPackagesPrepareLittleBeforeTheyAreUsed",
	}},
	{"on Windows no process outlives the job object of its server", []string{
		"internal/wrap/kernel.TestFaultP15WrittenButNeverRead/a grandchild may still read",
	}},
}

// wineTests lists, like tests, what runs on Windows but not under wine.
var wineTests = []exemption{
	{"builds with the go command, which is not available under wine", []string{
		"cmd/gauze.releaseOf",
		"lab/bench.TestEachModeOfTheWebStorm",
		"lab/bench.TestNoReadFailsWhenTheServerIsKilled",
		"lab/bench.TestSeededBugIsCaughtOverHTTP",
		"lab/bench.TestSeededBugsAreCaught",
		"lab/bench.TestSmallStormKeepsEveryPromise",
		"lab/bench.TestSmallWebStormKeepsEveryPromise",
		"lab/release.TestBuildIsReproducible",
		"lab/release.built",
		"lab/release.command",
		"examples.outside",
		"repair.TestThePackageLinksNeitherTheSDKNorTheSupervisor",
	}},
	{"runs node, which is not under wine", []string{
		"lab/conformance.testLab",
	}},
	{"runs git, which is not under wine", []string{
		"lab/release.TestReleaseReadsTheRepository",
	}},
	{"wine reports success for symbolic links without creating them", []string{
		"cmd/gauze.TestStatusFileDoesNotFollowLinks",
		"internal/workshop/backup.TestALinkIsNotFollowedOut",
		"internal/workshop/backup.TestALinkStaysALink",
		"internal/workshop/backup.TestALinkToAFileThatIsNotThereYetStaysALink",
		"cmd/gauze.TestYesDoesNotCoverAProjectsTask",
		"internal/workshop/fleet.TestALinkInPlaceOfNoFileIsNotWritten",
		"internal/workshop/fleet.TestALinkThatWasReadIsWritten",
		"internal/workshop/fleet.TestASwappedFileIsNotWritten",
	}},
	{"wine has no Unix sockets", []string{
		"internal/hub/attach.TestWhatAKilledProcessLeftIsReplaced/a socket without a listener",
		"internal/views/live.TestOnlyAddressesOfWrapsAreConnectedTo/the socket of a different program",
		"internal/views/live.TestADeadSocketOfADifferentContainerIsRemoved",
	}},
	{"wine updates CPU times late", []string{
		"internal/tasks/taskrun.TestServerDiesAtStepThirty/it hangs",
		"internal/wrap/kernel.TestFaultH05BusyIsNotHung/past its time, at work",
		"internal/wrap/kernel.TestFaultH06Stopped",
	}},
}

// files lists test files that are not built for Windows. A name may be a pattern of path.Match.
var files = []exemption{
	{"reads /proc", []string{
		"lab/bench/peers_linux_test.go",
		"lab/bench/soak_linux_test.go",
		"lab/bench/upkill_linux_test.go",
		"lab/bench/upstorm_linux_test.go",
		"cmd/gauze/run_test.go",
		"internal/workshop/backup/process_linux_test.go",
		"internal/disk/journal/process_linux_test.go",
		"cmd/gauze/taskdisk_linux_test.go",
		"cmd/gauze/idle_linux_test.go",
		"cmd/gauze/connect_linux_test.go",
		"cmd/gauze/connect_small_linux_test.go",
		"internal/wrap/probe/survey_linux_test.go",
		"internal/testonly/census/proc_linux_test.go",
		"internal/agent/agenttools/offer_linux_test.go",
		"internal/wrap/gateway/ready_linux_test.go",
		"internal/wrap/kernel/fault_hang_linux_test.go",
		"internal/wrap/kernel/idle_linux_test.go",
		"internal/wrap/upstream/process/family_linux_test.go",
		"internal/wrap/upstream/process/survey_linux_test.go",
		"internal/wrap/upstream/process/tied_linux_test.go",
		"internal/wrap/upstream/process/vitals_linux_test.go",
		"internal/wrap/upstream/process/vitals_darwin_test.go",
	}},
	{"on Windows a header is written before its body", []string{
		"internal/wrap/upstream/web/joined_unix_test.go",
	}},
	{"stops the gateway by SIGTERM, which Windows does not have", []string{
		"cmd/gauze/heal_url_test.go",
		"cmd/gauze/serve_oauth_test.go",
		"cmd/gauze/serve_test.go",
		"cmd/gauze/lazy_linux_test.go",
		"cmd/gauze/serve_token_test.go",
		"cmd/gauze/dashboard_test.go",
		"cmd/gauze/export_test.go",
		"cmd/gauze/metrics_test.go",
	}},
	{"sets permission bits, which Windows does not have", []string{
		"cmd/gauze/record_state_test.go",
		"internal/workshop/backup/own_unix_test.go",
		"internal/workshop/installed/copy_unix_test.go",
	}},
	{"limits the number of open files, which Windows does not do", []string{
		"cmd/gauze/record_unix_test.go",
		"internal/disk/files/limit_unix_test.go",
	}},
	{"installs gauze with symbolic links, which Windows may not let a user make", []string{
		"cmd/gauze/moved_unix_test.go",
	}},
	{"runs the lines of the documentation in a shell", []string{
		"cmd/gauze/docs_linux_test.go",
	}},
	{"needs a pseudo-terminal", []string{
		"cmd/gauze/questions_linux_test.go",
		"cmd/gauze/task_review_linux_test.go",
		"cmd/gauze/progress_linux_test.go",
		"cmd/gauze/top_linux_test.go",
		"cmd/gauze/upgrade_linux_test.go",
		"cmd/gauze/wrap_linux_test.go",
		"internal/text/fullscreen/fullscreen_linux_test.go",
	}},
	{"asks a program to end, which Windows cannot", []string{
		"internal/workshop/doctor/machine_unix_test.go",
	}},
	{"removes a file that is open", []string{
		"internal/disk/journal/missing_unix_test.go",
	}},
	{"sends an interrupt, which Windows cannot send to one process", []string{
		"cmd/gauze/logs_unix_test.go",
		"cmd/gauze/history_unix_test.go",
	}},
	{"has the clients' files where Linux has them", []string{
		"cmd/gauze/wrap_up_linux_test.go",
	}},
	{"connects as a different user", []string{
		"internal/disk/sockets/peer_linux_test.go",
	}},
	{"waits for SIGSTOP, which Windows does not have", []string{
		"internal/views/demo/stopped_linux_test.go",
		"internal/testonly/faultyserver/stop_unix_test.go",
		"internal/views/live/stopped_unix_test.go",
	}},
	{"holds a port that refuses connections, which Windows cannot", []string{
		"internal/testonly/refusing/refusing_unix_test.go",
	}},
	{"makes a FIFO in the file system, which Windows does not have", []string{
		"cmd/gauze/statusfile_unix_test.go",
	}},
	{"the servers are shell scripts", []string{
		"cmd/gauze/canary_test.go",
		"cmd/gauze/login_canary_test.go",
		"cmd/gauze/clients_slow_test.go",
		"cmd/gauze/heal_test.go",
		"cmd/gauze/ranked_test.go",
		"cmd/gauze/healing_test.go",
		"cmd/gauze/mcp_task_test.go",
		"cmd/gauze/mcp_test.go",
		"internal/agent/agenttools/budget_test.go",
		"internal/agent/agenttools/foreign_test.go",
		"internal/agent/agenttools/hostile_test.go",
		"internal/agent/agenttools/inspect_test.go",
		"internal/agent/agenttools/offer_test.go",
		"internal/agent/agenttools/required_test.go",
		"internal/agent/agenttools/size_test.go",
		"internal/wrap/probe/unix_test.go",
		"lab/browsertest/*_test.go",
		"lab/site/browser_test.go",
		"lab/site/recording/recording_test.go",
	}},
	{"lowers a resource limit, which Windows does not have", []string{
		"internal/wrap/kernel/fault_process_unix_test.go",
	}},
	{"runs npm and PyPI packages installed for Linux, and watches its processes in /proc", []string{
		"lab/realtest/*_test.go",
		"lab/conformance/suite_test.go",
	}},
	{"installs a release with the tools of Linux", []string{
		"lab/release/*_linux_test.go",
		"lab/release/tryout_test.go",
	}},
	{"the traps in a repository and the programs of its user are shell scripts and FIFOs", []string{
		"lab/hostile/*_test.go",
	}},
}
