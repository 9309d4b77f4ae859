// Drop a file, or choose one; it goes to the studio, and its progress is shown.
export default {
  template: `
<label class="drop" :class="{over}" @dragover.prevent="over = true" @dragleave="over = false" @drop.prevent="dropped">
  <input type="file" :accept="accept" @change="send($event.target.files[0]); $event.target.value = ''">
  <strong>Drop a file here</strong><span class="soft small">or choose one: {{ words }}</span>
  <div v-if="share !== null" class="progress" role="progressbar" :aria-valuenow="Math.round(100 * share)" aria-valuemin="0" aria-valuemax="100" aria-label="Sending"><i :style="{width: 100 * share + '%'}"></i></div>
</label>`,
  props: { url: String, accept: String, words: String, limit: Number },
  data: () => ({ over: false, share: null }),
  methods: {
    dropped(event) { this.over = false; this.send(event.dataTransfer.files[0]); },
    send(file) {
      if (!file) return;
      if (file.size > this.limit) return this.$emit("rejected", "large");
      const request = new XMLHttpRequest(), form = new FormData();
      form.append("file", file, file.name);
      request.upload.onprogress = (event) => { this.share = event.loaded / event.total; };
      request.onloadend = () => { this.share = null; if (request.status !== 200) this.$emit("rejected", request.status === 413 ? "large" : "failed"); };
      request.open("POST", this.url);
      request.send(form);
      this.share = 0;
    },
  },
};
