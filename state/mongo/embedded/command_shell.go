package embedded

import (
	"os"
	"runtime"
	"time"

	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// These commands are asked by the shell of a person, mongosh: most of them when it starts.

// connectionStatus says who has logged in: nobody, because there are no users.
func (r *request) connectionStatus() error {
	privileges := false
	if err := r.fields(func(key string, v bsoncore.Value) (bool, error) {
		if key == "showPrivileges" {
			privileges = raw.Truthy(v)
		}
		return key == "showPrivileges", nil
	}); err != nil {
		return err
	}
	none := bsoncore.BuildArray(nil)
	info := bsoncore.NewDocumentBuilder().AppendArray("authenticatedUsers",
		none).AppendArray("authenticatedUserRoles", none)
	if privileges {
		info.AppendArray("authenticatedUserPrivileges", none)
	}
	r.out = bsoncore.AppendDocumentElement(r.out, "authInfo", info.Build())
	return nil
}

func (r *request) whatsMyURI() error {
	r.out = bsoncore.AppendStringElement(r.out, "you", r.conn.nc.RemoteAddr().String())
	return nil
}

// getParameter knows the version whose features clients may use, and nothing else.
func (r *request) getParameter() error {
	const version = "featureCompatibilityVersion"
	found := false
	every, _ := firstValue(r.body).StringValueOK()
	if err := r.fields(func(key string, _ bsoncore.Value) (bool, error) {
		found = found || key == version
		return true, nil
	}); err != nil {
		return err
	}
	if !found && every != "*" {
		return mongoerr.New(mongoerr.InvalidOptions, "no option found to get")
	}
	is := r.s.release()
	r.out = bsoncore.AppendDocumentElement(r.out, version,
		bsoncore.NewDocumentBuilder().AppendString("version", is.short()).Build())
	return nil
}

func (r *request) getCmdLineOpts() error {
	argv := bsoncore.NewArrayBuilder()
	for _, arg := range os.Args {
		argv.AppendString(arg)
	}
	r.out = bsoncore.AppendArrayElement(r.out, "argv", argv.Build())
	r.out = bsoncore.AppendDocumentElement(r.out, "parsed", bsoncore.BuildDocument(nil))
	return nil
}

func (r *request) hostInfo() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	r.out = bsoncore.AppendDocumentElement(r.out, "system", bsoncore.NewDocumentBuilder().
		AppendDateTime("currentTime", time.Now().UnixMilli()).
		AppendString("hostname", host).
		AppendInt32("cpuAddrSize", 64).
		AppendInt32("numCores", int32(runtime.NumCPU())).
		AppendString("cpuArch", runtime.GOARCH).Build())
	r.out = bsoncore.AppendDocumentElement(r.out, "os",
		bsoncore.NewDocumentBuilder().AppendString("type", runtime.GOOS).Build())
	return nil
}

func (r *request) getLog() error {
	if err := r.fields(func(string, bsoncore.Value) (bool, error) { return false, nil }); err != nil {
		return err
	}
	which, _ := firstValue(r.body).StringValueOK()
	var lines []string
	total := 0
	switch which {
	case "*":
		r.out = bsoncore.AppendArrayElement(r.out, "names",
			bsoncore.NewArrayBuilder().AppendString("global").AppendString("startupWarnings").Build())
		return nil
	case "global":
		lines, total = r.s.log.lines()
	case "startupWarnings":
		lines = []string{logLine(r.s.started, "W", "Access control is not enabled for the database. Read and write access to data and configuration is unrestricted")}
		total = len(lines)
	default:
		return mongoerr.New(mongoerr.OperationFailed, "no RamLog named: %s", which)
	}
	list := bsoncore.NewArrayBuilder()
	for _, line := range lines {
		list.AppendString(line)
	}
	r.out = appendCount(r.out, "totalLinesWritten", int64(total))
	r.out = bsoncore.AppendArrayElement(r.out, "log", list.Build())
	return nil
}
