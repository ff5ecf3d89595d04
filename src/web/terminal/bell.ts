/** A short tone; browsers play it only after a key or click in the page. */
export class BellSound implements Disposable {
  #context: AudioContext | undefined;

  ring(): void {
    this.#context ??= new AudioContext();
    const { currentTime, destination } = this.#context;
    const tone = new OscillatorNode(this.#context, { frequency: FREQUENCY_HZ });
    const volume = new GainNode(this.#context, { gain: VOLUME });
    volume.gain.exponentialRampToValueAtTime(SILENT, currentTime + DURATION_S);
    tone.connect(volume).connect(destination);
    tone.start();
    tone.stop(currentTime + DURATION_S);
  }

  [Symbol.dispose](): void {
    void this.#context?.close();
  }
}

const FREQUENCY_HZ = 660;
const VOLUME = 0.15;
const SILENT = 0.001;
const DURATION_S = 0.18;
