"""A client of Google's IAP relay for TCP: `gcloud compute start-iap-tunnel --listen-on-stdin` without gcloud.

It starts once for each ssh connection, so nothing here imports more than it needs.
"""
