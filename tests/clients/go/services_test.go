package clients

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

func TestStatus(t *testing.T) {
	s := newSession(t)
	revision := s.put("a", "1")
	reply, err := s.Status(testContext(t), endpoint())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "version", reply.Version, "3.7.1")
	want(t, "storage version", reply.StorageVersion, "3.7.0")
	want(t, "revision", reply.Header.Revision, revision)
	want(t, "has a cluster ID", reply.Header.ClusterId != 0, true)
	want(t, "has a member ID", reply.Header.MemberId != 0, true)
	want(t, "leader", reply.Leader, reply.Header.MemberId)
	want(t, "is learner", reply.IsLearner, false)
	want(t, "errors", len(reply.Errors), 0)
	want(t, "term", reply.RaftTerm, reply.Header.RaftTerm)
	want(t, "applied index", reply.RaftAppliedIndex, reply.RaftIndex)
	want(t, "takes space", reply.DbSizeInUse > 0, true)
	want(t, "in use is at most the size", reply.DbSizeInUse <= reply.DbSize, true)
}

func TestMemberList(t *testing.T) {
	s := newSession(t)
	reply, err := s.MemberList(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "members", len(reply.Members), 1)
	member := reply.Members[0]
	want(t, "its ID is that of the answering member", member.ID, reply.Header.MemberId)
	want(t, "has a name", member.Name != "", true)
	want(t, "has client URLs", len(member.ClientURLs) > 0, true)
	want(t, "is learner", member.IsLearner, false)
	want(t, "revision in the header", reply.Header.Revision, int64(0))
}

func TestHeadersNameTheSameServer(t *testing.T) {
	s := newSession(t)
	first := s.get("a").Header
	reply, err := s.Put(testContext(t), s.key("a"), "1")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "cluster ID", reply.Header.ClusterId, first.ClusterId)
	want(t, "member ID", reply.Header.MemberId, first.MemberId)
	want(t, "term", reply.Header.RaftTerm, first.RaftTerm)
	want(t, "has a term", first.RaftTerm > 0, true)
}

func TestHealth(t *testing.T) {
	s := newSession(t)
	health := grpc_health_v1.NewHealthClient(s.ActiveConnection())
	reply, err := health.Check(testContext(t), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the whole server", reply.Status, grpc_health_v1.HealthCheckResponse_SERVING)

	_, err = health.Check(testContext(t), &grpc_health_v1.HealthCheckRequest{Service: "nobody"})
	want(t, "unknown service: code", status.Code(err), codes.NotFound)
	want(t, "unknown service: text", status.Convert(err).Message(), "unknown service")

	list, err := health.List(testContext(t), &grpc_health_v1.HealthListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "services listed", len(list.Statuses), 1)
	want(t, "the whole server in the list", list.Statuses[""].GetStatus(),
		grpc_health_v1.HealthCheckResponse_SERVING)

	for service, wanted := range map[string]grpc_health_v1.HealthCheckResponse_ServingStatus{
		"":       grpc_health_v1.HealthCheckResponse_SERVING,
		"nobody": grpc_health_v1.HealthCheckResponse_SERVICE_UNKNOWN,
	} {
		watch, err := health.Watch(testContext(t), &grpc_health_v1.HealthCheckRequest{Service: service})
		if err != nil {
			t.Fatal(err)
		}
		first, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		want(t, "first state of "+service, first.Status, wanted)
	}
}
