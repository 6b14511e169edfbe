// Package protocompare compares kvist's .proto files with those that the real client library carries: every
// message, field, enum value and method, in both directions. It needs no server.
//
// KVIST_DESCRIPTOR_SET names the descriptor set that the build writes (proto/kvist.descriptor_set in the build
// directory).
package protocompare

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// The client-facing files of each package. The library's etcdserverpb holds two files more, with what etcd
// servers keep on disk and tell each other; kvist has no use for them.
var libraryFiles = []protoreflect.FileDescriptor{
	mvccpb.File_kv_proto,
	authpb.File_auth_proto,
	etcdserverpb.File_rpc_proto,
	v3lockpb.File_v3lock_proto,
	v3electionpb.File_v3election_proto,
	grpc_health_v1.File_grpc_health_v1_health_proto,
}

// facts maps the full name of everything declared to all that a peer on the wire can notice about it.
type facts map[string]string

func (f facts) addFile(file protoreflect.FileDescriptor) {
	f["package "+string(file.Package())] = file.Syntax().String()
	f.addEnums(file.Enums())
	f.addMessages(file.Messages())
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		f["service "+string(service.FullName())] = ""
		for j := range service.Methods().Len() {
			f.addMethod(service.Methods().Get(j))
		}
	}
}

func (f facts) addMessages(messages protoreflect.MessageDescriptors) {
	for i := range messages.Len() {
		message := messages.Get(i)
		f["message "+string(message.FullName())] = fmt.Sprintf("map entry %t", message.IsMapEntry())
		for j := range message.Fields().Len() {
			f.addField(message.Fields().Get(j))
		}
		f.addEnums(message.Enums())
		f.addMessages(message.Messages())
	}
}

func (f facts) addField(field protoreflect.FieldDescriptor) {
	typeName := field.Kind().String()
	switch {
	case field.Message() != nil:
		typeName = string(field.Message().FullName())
	case field.Enum() != nil:
		typeName = string(field.Enum().FullName())
	}
	oneof := "none"
	if field.ContainingOneof() != nil {
		oneof = string(field.ContainingOneof().Name())
	}
	f["field "+string(field.FullName())] = fmt.Sprintf(
		"number %d, %s %s, packed %t, oneof %s, presence %t, in JSON %s", field.Number(), field.Cardinality(),
		typeName, field.IsPacked(), oneof, field.HasPresence(), field.JSONName())
}

func (f facts) addEnums(enums protoreflect.EnumDescriptors) {
	for i := range enums.Len() {
		enum := enums.Get(i)
		f["enum "+string(enum.FullName())] = ""
		for j := range enum.Values().Len() {
			value := enum.Values().Get(j)
			f["value "+string(enum.FullName())+"."+string(value.Name())] = fmt.Sprint(value.Number())
		}
	}
}

func (f facts) addMethod(method protoreflect.MethodDescriptor) {
	f["method "+string(method.FullName())] = fmt.Sprintf("(%s, stream %t) returns (%s, stream %t)",
		method.Input().FullName(), method.IsStreamingClient(),
		method.Output().FullName(), method.IsStreamingServer())
}

func libraryFacts() facts {
	all := facts{}
	for _, file := range libraryFiles {
		all.addFile(file)
	}
	return all
}

func kvistFacts(t *testing.T, set *descriptorpb.FileDescriptorSet) facts {
	t.Helper()
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatalf("the descriptor set does not hold together: %v", err)
	}
	all := facts{}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		all.addFile(file)
		return true
	})
	return all
}

func readDescriptorSet(t *testing.T) *descriptorpb.FileDescriptorSet {
	t.Helper()
	path := os.Getenv("KVIST_DESCRIPTOR_SET")
	if path == "" {
		t.Fatal("KVIST_DESCRIPTOR_SET must name the kvist.descriptor_set of a build")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(data, set); err != nil {
		t.Fatalf("%s is not a descriptor set: %v", path, err)
	}
	return set
}

// differences returns a line for each thing that one side lacks or says otherwise, sorted.
func differences(kvist, library facts) []string {
	lines := map[string]bool{}
	for name, ours := range kvist {
		if theirs, ok := library[name]; !ok {
			lines[name+": only in kvist"] = true
		} else if ours != theirs {
			lines[fmt.Sprintf("%s: kvist says %q, the library %q", name, ours, theirs)] = true
		}
	}
	for name := range library {
		if _, ok := kvist[name]; !ok {
			lines[name+": missing in kvist"] = true
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

func TestSameAsClientLibrary(t *testing.T) {
	library := libraryFacts()
	if _, ok := library["method etcdserverpb.KV.RangeStream"]; !ok {
		t.Fatal("the library's descriptors lack KV.RangeStream, so this compares with the wrong thing")
	}
	if found := differences(kvistFacts(t, readDescriptorSet(t)), library); len(found) != 0 {
		t.Fatalf("%d differences:\n%s", len(found), strings.Join(found, "\n"))
	}
}

// Each change that would break a client must be seen, and nothing else with it.
func TestSeesEveryKindOfChange(t *testing.T) {
	cases := []struct {
		name   string
		change func(rpc *descriptorpb.FileDescriptorProto)
		want   []string
	}{
		{"field number", func(rpc *descriptorpb.FileDescriptorProto) {
			field(rpc, "PutRequest", "prev_kv").Number = proto.Int32(9)
		}, []string{"field etcdserverpb.PutRequest.prev_kv: kvist says"}},
		{"field type", func(rpc *descriptorpb.FileDescriptorProto) {
			field(rpc, "PutRequest", "lease").Type = descriptorpb.FieldDescriptorProto_TYPE_UINT64.Enum()
		}, []string{"field etcdserverpb.PutRequest.lease: kvist says"}},
		{"label", func(rpc *descriptorpb.FileDescriptorProto) {
			field(rpc, "RangeResponse", "kvs").Label = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()
		}, []string{"field etcdserverpb.RangeResponse.kvs: kvist says"}},
		{"out of the oneof", func(rpc *descriptorpb.FileDescriptorProto) {
			field(rpc, "Compare", "lease").OneofIndex = nil
		}, []string{"field etcdserverpb.Compare.lease: kvist says"}},
		{"extra field", func(rpc *descriptorpb.FileDescriptorProto) {
			message(rpc, "StatusRequest").Field = append(message(rpc, "StatusRequest").Field,
				&descriptorpb.FieldDescriptorProto{
					Name: proto.String("more"), JsonName: proto.String("more"), Number: proto.Int32(1),
					Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
					Type:  descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum(),
				})
		}, []string{"field etcdserverpb.StatusRequest.more: only in kvist"}},
		{"missing field", func(rpc *descriptorpb.FileDescriptorProto) {
			request := message(rpc, "DeleteRangeRequest")
			request.Field = request.Field[:2]
		}, []string{"field etcdserverpb.DeleteRangeRequest.prev_kv: missing in kvist"}},
		{"enum number", func(rpc *descriptorpb.FileDescriptorProto) {
			rpc.EnumType[0].Value[2].Number = proto.Int32(7)
		}, []string{"value etcdserverpb.AlarmType.CORRUPT: kvist says"}},
		{"streaming", func(rpc *descriptorpb.FileDescriptorProto) {
			method(rpc, "KV", "RangeStream").ServerStreaming = proto.Bool(false)
		}, []string{"method etcdserverpb.KV.RangeStream: kvist says"}},
		{"missing method", func(rpc *descriptorpb.FileDescriptorProto) {
			rpc.Service[0].Method = rpc.Service[0].Method[:5]
		}, []string{"method etcdserverpb.KV.Compact: missing in kvist"}},
	}
	original := readDescriptorSet(t)
	library := libraryFacts()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			set := proto.Clone(original).(*descriptorpb.FileDescriptorSet)
			index := slices.IndexFunc(set.File, func(f *descriptorpb.FileDescriptorProto) bool {
				return f.GetPackage() == "etcdserverpb"
			})
			c.change(set.File[index])
			found := differences(kvistFacts(t, set), library)
			if len(found) != len(c.want) {
				t.Fatalf("found %q, want %q", found, c.want)
			}
			for i := range c.want {
				if !strings.HasPrefix(found[i], c.want[i]) {
					t.Errorf("found %q, want %q...", found[i], c.want[i])
				}
			}
		})
	}
}

func message(file *descriptorpb.FileDescriptorProto, name string) *descriptorpb.DescriptorProto {
	return named(file.MessageType, name)
}

func field(file *descriptorpb.FileDescriptorProto, in, name string) *descriptorpb.FieldDescriptorProto {
	return named(message(file, in).Field, name)
}

func method(file *descriptorpb.FileDescriptorProto, in, name string) *descriptorpb.MethodDescriptorProto {
	return named(named(file.Service, in).Method, name)
}

// named returns the element of that name; a test that names what is not there panics.
func named[T interface{ GetName() string }](list []T, name string) T {
	return list[slices.IndexFunc(list, func(one T) bool { return one.GetName() == name })]
}
