// The page under test: @moq/net as publisher and, on a connection of its own, as subscriber.
import * as Moq from "@moq/net";

const connect = (url, hash) =>
	Moq.Connection.connect(new URL(url), {
		webtransport: { serverCertificateHashes: [{ value: hash }] },
		websocket: { enabled: false },
	});

// publish sends a group of two strings every 100 ms, "G.0" and "G.1", until the page is closed. It returns the version.
window.publish = async (url, hash, name) => {
	const connection = await connect(url, hash);
	const broadcast = new Moq.Broadcast.Producer();
	const track = broadcast.createTrack("clock");
	connection.publish(Moq.Path.from(name), broadcast);
	setInterval(() => {
		const group = track.appendGroup();
		group.writeString(`${group.sequence}.0`);
		group.writeString(`${group.sequence}.1`);
		group.close();
	}, 100);
	return connection.version;
};

// subscribe returns the strings of n groups of a track, as [group, [strings]], and the version.
window.subscribe = async (url, hash, name, n) => {
	const connection = await connect(url, hash);
	const track = connection.consume(Moq.Path.from(name)).track("clock").subscribe();
	const groups = [];
	while (groups.length < n) {
		const group = await track.nextGroup();
		if (!group) break;
		const strings = [];
		for (let s = await group.readString(); s !== undefined; s = await group.readString()) strings.push(s);
		groups.push([group.sequence, strings]);
	}
	const { version } = connection;
	connection.close();
	return { version, groups };
};
