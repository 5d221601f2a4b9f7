"""What speed to expect: cards, host memory, bytes read for a token, and the bandwidth and compute bounds.

``gpu.recognise`` names a card, ``weights.estimate`` the bytes a token needs, ``roofline`` the rates that follow.
Tables lie in ``data/`` and are read when first asked for.
"""
