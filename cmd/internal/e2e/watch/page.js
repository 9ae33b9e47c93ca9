// The page under test: the unmodified <moq-watch>, and what it takes to see and hear it.
import "@moq/watch/element";

// play adds a player and returns nothing; sample() tells what it shows and sounds like.
window.play = (url, name, attributes) => {
	const player = document.createElement("moq-watch");
	for (const [key, value] of Object.entries(attributes)) player.setAttribute(key, value);
	const canvas = document.createElement("canvas");
	canvas.style.width = "640px";
	player.append(canvas);
	document.body.append(player);
	player.setAttribute("name", name);
	player.setAttribute("url", url);

	// Pictures: a small copy of the canvas, hashed on each animation frame.
	const small = document.createElement("canvas");
	small.width = 64;
	small.height = 36;
	const pixels = small.getContext("2d", { willReadFrequently: true });
	let last = 0;
	let changes = 0;
	let bright = 0;
	const look = () => {
		if (canvas.width > 0 && player.renderer.out.frame.peek()) {
			pixels.drawImage(canvas, 0, 0, 64, 36);
			const d = pixels.getImageData(0, 0, 64, 36).data;
			let hash = 0;
			bright = 0;
			for (let i = 0; i < d.length; i += 4) {
				hash = (hash * 31 + d[i] + d[i + 1] * 7 + d[i + 2] * 13) | 0;
				if (d[i] > 20 || d[i + 1] > 20 || d[i + 2] > 20) bright++;
			}
			if (hash !== last) changes++;
			last = hash;
		}
		requestAnimationFrame(look);
	};
	look();

	// Sound: an analyser on the player's audio graph; the loudest moment since the last sample.
	let analyser;
	let root;
	let loudest = 0;
	let pitch = 0;
	setInterval(() => {
		const now = player.audio.out.root.peek();
		if (now && now !== root) {
			root = now;
			analyser = root.context.createAnalyser();
			analyser.fftSize = 4096;
			root.connect(analyser);
		}
		if (!analyser) return;
		const wave = new Float32Array(analyser.fftSize);
		analyser.getFloatTimeDomainData(wave);
		const rms = Math.sqrt(wave.reduce((sum, v) => sum + v * v, 0) / wave.length);
		if (rms > loudest) {
			loudest = rms;
			const bins = new Float32Array(analyser.frequencyBinCount);
			analyser.getFloatFrequencyData(bins);
			pitch = (bins.indexOf(Math.max(...bins)) * analyser.context.sampleRate) / analyser.fftSize;
		}
	}, 50);

	window.sample = () => {
		const s = {
			changes,
			bright,
			loudest,
			pitch,
			connection: player.connection.status.peek(),
			version: player.connection.established.peek()?.version ?? "",
			status: player.broadcast.out.status.peek(),
		};
		changes = 0;
		loudest = 0;
		return s;
	};
};
