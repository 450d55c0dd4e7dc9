package programs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var sortOptions = options{
	short: "bdfgiMhnRrVcCmsuzk:S:t:",
	long: "ignore-leading-blanks dictionary-order fold-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort " +
		"numeric-sort random-sort reverse sort= version-sort check merge stable unique zero-terminated key= field-separator= " +
		"buffer-size= parallel= debug",
}

var uniqOptions = options{
	short: "cdDiuzf:s:w:",
	long:  "count repeated all-repeated group unique ignore-case zero-terminated skip-fields= skip-chars= check-chars=",
}

func uniq(args []Arg) error {
	_, operands, err := uniqOptions.parseFirst(args)
	if err != nil {
		return err
	}
	if len(operands) > 1 || len(operands) == 1 && !operands[0].Known {
		return errors.New("only one operand is allowed, and it must be literal text: uniq writes to the second operand")
	}
	return nil
}

var shufOptions = options{short: "ezrn:i:", long: "echo zero-terminated repeat head-count= input-range="}

// find has a separate expression language, in which some words have side effects.
func find(args []Arg) error {
	for _, arg := range args {
		if arg.option() && !arg.Known {
			return errors.New("each argument must be literal text, or begin with ./ or /")
		}
		for _, acts := range []string{"-exec", "-ok", "-delete", "-fprint", "-fls"} {
			if strings.HasPrefix(arg.Text, acts) {
				return refused(arg.Text)
			}
		}
	}
	return nil
}

var tarOptions = options{
	short: "tvzjJaxOf:C:",
	long: "list verbose gzip bzip2 xz zstd auto-compress extract get to-stdout file= directory= wildcards no-wildcards exclude= " +
		"numeric-owner full-time utc force-local",
}

func tar(args []Arg) error {
	args = slices.Clone(args)
	if len(args) > 0 && !args[0].Known {
		return errors.New("its first argument must be literal text: it holds options, with or without a hyphen")
	}
	if len(args) > 0 && !strings.HasPrefix(args[0].Text, "-") { // tar tf FILE
		if at := strings.IndexAny(args[0].Text, "fC"); at >= 0 && at < len(args[0].Text)-1 {
			return errors.New("write its options with a hyphen")
		}
		args[0].Text = "-" + args[0].Text
	}
	opts, _, err := tarOptions.parse(args)
	if err != nil {
		return err
	}
	for _, opt := range opts {
		if (opt.name == "f" || opt.name == "file") && (!opt.value.Known || strings.Contains(opt.value.Text, ":")) {
			return errors.New("an archive's name must be literal text without a colon, because tar starts a program for host:file")
		}
	}
	if has(opts, "x", "extract", "get") && !has(opts, "O", "to-stdout") {
		return errors.New("the option -x writes files: add -O")
	}
	return nil
}

var curlOptions = options{
	short: "sSfLIivkG46gN0#m:X:A:e:u:r:H:d:",
	long: "silent show-error fail fail-with-body location head include verbose insecure get ipv4 ipv6 globoff no-buffer compressed " +
		"http1.1 http2 max-time= connect-timeout= request= user-agent= referer= user= range= header= data= data-urlencode= data-raw= " +
		"json= url= retry= retry-delay= max-redirs=",
}

// curl also refuses values that refer to a file's content, because curl would send it.
func curl(args []Arg) error {
	opts, _, err := curlOptions.parse(args)
	for _, opt := range opts {
		switch said := opt.value.Text; opt.name {
		case "d", "data", "json", "H", "header", "url":
			if strings.HasPrefix(said, "@") {
				return fmt.Errorf("the option %s with @FILE is not allowed: it sends the file", hyphened(opt.name))
			}
		case "data-urlencode":
			if !strings.Contains(said, "=") && (!opt.value.Known || strings.Contains(said, "@")) {
				return errors.New("the option --data-urlencode is allowed only as name=value: with @ it sends a file")
			}
		}
	}
	return err
}

var dateOptions = options{
	short: "uRd:f:r:I", long: "date= file= reference= utc universal rfc-email rfc-2822 rfc-3339= iso-8601 iso-8601= debug resolution",
}

// date refuses an operand without a plus sign, because it sets the clock.
func date(args []Arg) error {
	args = slices.DeleteFunc(slices.Clone(args), func(a Arg) bool { return a.Known && strings.HasPrefix(a.Text, "-I") })
	_, operands, err := dateOptions.parse(args)
	for _, operand := range operands {
		if !strings.HasPrefix(operand.Text, "+") {
			return errors.New("its operand must begin with a plus sign: without one it sets the clock")
		}
	}
	return err
}

// systemctlReads are the systemctl commands that only read.
var systemctlReads = strings.Fields("status show cat list-units list-unit-files list-timers list-sockets list-automounts list-paths " +
	"list-dependencies list-jobs list-machines is-active is-failed is-enabled is-system-running get-default show-environment")

var systemctlOptions = options{
	short: "at:p:ln:qo:rP:", long: "all type= state= property= value full lines= output= no-pager plain no-legend failed user system " +
		"recursive reverse after before quiet show-types version legend= timestamp= no-ask-password",
}

func systemctl(args []Arg) error {
	_, operands, err := systemctlOptions.parse(args)
	if err == nil && len(operands) > 0 && !(operands[0].Known && slices.Contains(systemctlReads, operands[0].Text)) {
		return fmt.Errorf("only these subcommands are allowed: %s", strings.Join(systemctlReads, ", "))
	}
	return err
}

// lsof allows many letters before a value, and the value may contain a D.
func lsof(args []Arg) error {
	for _, arg := range args {
		at := strings.IndexByte(arg.Text, 'D')
		if !arg.option() || strings.HasPrefix(arg.Text, "+") {
			continue
		}
		if !arg.Known && !strings.ContainsAny(arg.Text, "icups") {
			return errOpen
		}
		if at > 0 && !strings.ContainsAny(arg.Text[:at], "iucpgdsFfST") {
			return refused("-D")
		}
	}
	return nil
}

var hostnameOptions = options{short: "aAdfiIsy", long: "alias all-fqdns all-ip-addresses domain fqdn long ip-address short yp nis version"}

func hostname(args []Arg) error {
	_, operands, err := hostnameOptions.parse(args)
	if err == nil && len(operands) > 0 {
		err = errors.New("operands are not allowed: an operand sets the host's name")
	}
	return err
}

var sysctlOptions = options{short: "aAnNbeqr:", long: "all names values binary ignore quiet pattern= deprecated"}

func sysctl(args []Arg) error {
	_, operands, err := sysctlOptions.parse(args)
	for _, operand := range operands {
		if !operand.Known || strings.ContainsAny(operand.Text, "= ") {
			return errors.New("its operands must be literal names: NAME=VALUE sets a parameter")
		}
	}
	return err
}

// gitReads are the git commands that only read.
var gitReads = strings.Fields("log show diff status blame annotate grep shortlog describe rev-parse rev-list ls-files ls-tree cat-file " +
	"merge-base name-rev for-each-ref show-ref diff-tree diff-index diff-files whatchanged count-objects version")

// gitOptions precede the command. -C is as harmless as the folder that it names.
var gitOptions = options{
	short: "PC:",
	long:  "no-pager no-optional-locks no-replace-objects literal-pathspecs glob-pathspecs icase-pathspecs version",
}

func git(args []Arg) error {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i].Text == "-C":
			i++
		case args[i].option():
		case args[i].Known && slices.Contains(gitReads, args[i].Text):
			if err := gitOptions.check(args[:i]); err != nil {
				return err
			}
			return gitArguments(args[i].Text, args[i+1:])
		default:
			return fmt.Errorf("only these subcommands are allowed: %s", strings.Join(gitReads, ", "))
		}
	}
	return gitOptions.check(args)
}

func gitArguments(command string, args []Arg) error {
	d := deny{long: "output ext-diff textconv filters open-files-in-pager exec-path upload-pack receive-pack show-signature paginate help " +
		"ignore-submodules recurse-submodules remerge-diff"}
	switch command {
	case "grep":
		d.short = "O"
	case "status": // -v shows a diff, with programs of the repository's configuration
		d.short, d.long = "v", d.long+" verbose"
	case "describe": // these look into submodules, with programs of the submodules' configuration
		d.long += " dirty broken"
	}
	return d.check(args)
}

// kubectlReads are the kubectl commands that only read. kubectlPairs are commands with some subcommands that only read.
var (
	kubectlReads = strings.Fields("get describe logs top explain version api-resources api-versions events")
	kubectlPairs = map[string][]string{
		"auth":    {"can-i", "whoami"},
		"rollout": {"status", "history"},
		"config":  {"view", "get-contexts", "current-context"},
	}
)

// kubectlOptions precede the command. All take a value, because kubectl takes the word after an unknown option as its value.
var kubectlOptions = options{
	short: "n:s:v:",
	long:  "namespace= context= cluster= user= as= as-group= server= token= request-timeout= v=",
}

func kubectl(args []Arg) error {
	d := deny{long: "kubeconfig kuberc kustomize cache-dir profile-output log-file log-dir"}
	if err := d.check(args); err != nil {
		return err
	}
	for _, arg := range args {
		if strings.HasPrefix(arg.Text, "-") && strings.HasPrefix(strings.TrimLeft(arg.Text, "-ARfhpw"), "k") {
			return refused("-k") // it runs git
		}
	}
	for i, arg := range args {
		if err := kubectlOptions.check(args[:i]); err == nil && !arg.option() {
			return kubectlCommand(args[i:])
		}
	}
	return kubectlOptions.check(args)
}

func kubectlCommand(args []Arg) error {
	second := ""
	if len(args) > 1 && args[1].Known {
		second = args[1].Text
	}
	switch name := args[0].Text; {
	case !args[0].Known:
		return errors.New("the subcommand must be literal text")
	case slices.Contains(kubectlReads, name), slices.Contains(kubectlPairs[name], second), name == "cluster-info" && len(args) == 1:
		return nil
	}
	return fmt.Errorf("only these subcommands are allowed: %s, cluster-info without arguments, auth can-i, auth whoami, rollout status, "+
		"rollout history, config view, config get-contexts, config current-context", strings.Join(kubectlReads, ", "))
}
