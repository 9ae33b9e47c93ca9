import { expect, test } from "vitest";
import { figure, metrics, openPage, relayUrl, useBrowser, useRelay, watch } from "./harness.ts";

useBrowser();
const relay = useRelay({ ops: true });

// These figures depend on the machine and on what else it does, so they are only written. Both pages, the encoders, the
// relay and the decoders share its processors.
test.each([
	["silent", { muted: "" }],
	["with sound", {}],
])("figures: from capture to screen with the lowest buffer, %s", async (what, query) => {
	const namespace = `live/${what.replace(" ", "-")}`;
	const q = new URLSearchParams({
		source: "pattern",
		namespace,
		start: "",
		height: "360",
		bitrate: "1",
		framerate: "30",
	});
	const publisher = await openPage(`${relayUrl(relay.port)}publish.html?${q}`, { width: 800, height: 600 });
	await publisher.getByRole("status").getByText("Live", { exact: true }).waitFor({ timeout: 60_000 });
	const player = await watch(relay.port, { namespace, latency: "20", ...query }, { width: 700, height: 500 });
	await player.waitPlaying(what, { sound: what !== "silent" });
	await player.page.waitForTimeout(3000);
	const frames = (await player.watchFrames(8000)).frames.filter((f) => f.said?.captured !== undefined);
	expect(frames.length).toBeGreaterThan(10);
	for (const stage of ["ingest", "relay", "end_to_end"]) {
		const of = async (what: string) =>
			(await metrics(relay.ops, `moq_frame_delay_seconds_${what}`)).filter(
				(m) => m.labels.stage === stage && m.labels.kind === "video",
			);
		const [sum, count] = [await of("sum"), await of("count")].map((list) => list.reduce((n, m) => n + m.value, 0));
		console.log(
			`figure: ${what}: stage ${stage}, mean of ${count} frames since the start ${((1000 * (sum ?? 0)) / (count ?? 0)).toFixed(1)} ms`,
		);
	}
	const { stats } = await player.info();
	figure(
		`${what}: capture to drawn on the canvas, ms`,
		frames.map((f) => (f.said?.at ?? 0) - (f.said?.captured ?? 0)),
	);
	figure(
		`${what}: burnt-in time to seen by the page, ms`,
		frames.map((f) => f.seen - f.burnt),
	);
	console.log(
		`figure: ${what}: buffer ${stats?.buffer?.toFixed(0)} ms, arrival ${stats?.video[0]?.transit?.p50.toFixed(0)} ms, skew ${stats?.skew?.toFixed(0)} ms, decoding ${stats?.video[0]?.decodeTime?.toFixed(1)} ms, sound ${stats?.audio?.delay?.p50.toFixed(0)} ms`,
	);
});
